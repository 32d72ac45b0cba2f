"""Before an owner adopts anything it is read anew."""

from mooring.client.contract import Client
from mooring.errors import Conflict, NotFound
from mooring.model.meta import ApiObject


async def check_may_adopt(client: Client, owner: ApiObject) -> None:
    """An owner of which the cache has not seen that it goes must adopt nothing.

    Raises: Conflict.
    """
    try:
        live = await client.get(type(owner), owner.key)
    except NotFound as error:
        raise Conflict(f"{owner.resource.kind} {owner.key} is gone") from error
    if live.uid != owner.uid or live.is_deleting:
        raise Conflict(f"{owner.resource.kind} {owner.key} is being deleted")
