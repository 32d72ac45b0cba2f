"""DELETE on a collection: delete everything the selectors match."""

import asyncio

import msgspec

from mooring.apiserver.request.message import Response
from mooring.apiserver.request.options import list_options
from mooring.apiserver.store.contract import Entry
from mooring.apiserver.verbs.backend import Backend, Call
from mooring.apiserver.verbs.delete import delete_object, read_options
from mooring.apiserver.verbs.list import list_body, matching
from mooring.errors import NotFound

AT_ONCE = 32  # deletions decided before others have their turn; their commits are one


async def delete_collection(backend: Backend, call: Call) -> Response:
    options = read_options(call)
    wanted = list_options(call.request.query)
    entries = await matching(backend, call, wanted)

    async def delete_one(entry: Entry) -> bool:
        namespace, _, name = entry.name.rpartition("/")
        route = msgspec.structs.replace(call.route, namespace=namespace, name=name)
        try:
            await delete_object(backend, msgspec.structs.replace(call, route=route), options)
        except NotFound:
            return False  # already deleted
        return True

    deleted: list[Entry] = []
    for start in range(0, len(entries), AT_ONCE):
        some = entries[start : start + AT_ONCE]
        were_there = await asyncio.gather(*map(delete_one, some))
        deleted += (entry for entry, was_there in zip(some, were_there, strict=True) if was_there)
        await backend.turns.next()
    metadata = {"resourceVersion": str(backend.store.revision)}
    return Response(200, list_body(backend, call.kind, deleted, metadata))
