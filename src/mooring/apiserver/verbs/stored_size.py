"""How large a stored object may become, by creation or bit by bit."""

from mooring.apiserver.limits.budgets import MOST_OBJECT_BYTES, MOST_VALUES
from mooring.apiserver.limits.json_size import check_values
from mooring.apiserver.store.contract import Entry, Put
from mooring.errors import ServerError


def check_stored(new: Put, old: Entry | None = None) -> None:
    """Refuse an object that is too large to be stored, in the words of etcd.

    What is too large already, from before there was a limit, may become smaller. Deletions are not
    asked: an object that just fits can still be marked as going.
    Raises: ServerError; TooLarge when it has too many values to be read back in one request.
    """
    size = len(new.head) + len(new.tail)
    if size <= MOST_VALUES or (old is not None and size < len(old.value)):
        return
    if size > MOST_OBJECT_BYTES:
        raise ServerError("etcdserver: request is too large")  # 500 without a reason, as upstream
    check_values(new.tail)
