"""A state is uncertain from before a call to the outside; when that record may be reverted."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from mooring.errors import HostError, StillRunning
from mooring.plugins.contract import NotStarted, Uncertain, VolumeError


def _nothing() -> None:
    pass


@contextmanager
def revert_record(
    revert: Callable[[], None],
    *,
    if_nothing_began: bool,
    if_it_failed: bool,
    given_up: Callable[[], None] = _nothing,
) -> Iterator[None]:
    """Around a call whose possible success is on record already.

    The record stays unless the call certainly left nothing behind; and even then it stays if there
    was something before: a mount of old, or one that was found on disk. After a call that was
    given up, `given_up` puts on record that something may come of it yet, whatever later ones say.
    """
    try:
        yield
    except NotStarted:
        if if_nothing_began:
            revert()
        raise
    except Uncertain:
        raise
    except StillRunning:
        given_up()
        raise
    except (VolumeError, HostError):
        if if_it_failed:
            revert()
        raise
