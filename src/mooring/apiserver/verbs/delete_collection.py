"""DELETE on a collection: delete everything the selectors match."""

import asyncio

import msgspec

from mooring.apiserver.backend import Backend, Call
from mooring.apiserver.document import list_items
from mooring.apiserver.http.message import Response
from mooring.apiserver.options import list_options
from mooring.apiserver.store.contract import Entry
from mooring.apiserver.verbs.delete import delete_object, read_options
from mooring.apiserver.verbs.list import list_head, matching
from mooring.errors import NotFound


async def delete_collection(backend: Backend, call: Call) -> Response:
    options = read_options(call)
    wanted = list_options(call.request.query)
    entries = matching(backend, call, wanted)

    async def delete_one(entry: Entry) -> bool:
        namespace, _, name = entry.name.rpartition("/")
        route = msgspec.structs.replace(call.route, namespace=namespace, name=name)
        try:
            await delete_object(backend, msgspec.structs.replace(call, route=route), options)
        except NotFound:
            return False  # somebody else was faster: the wished end
        return True

    were_there = await asyncio.gather(*map(delete_one, entries))
    deleted = [entry for entry, was_there in zip(entries, were_there, strict=True) if was_there]
    head = list_head(call.kind, {"resourceVersion": str(backend.store.revision)})
    return Response(200, head + b",".join(list_items(call.kind, deleted)) + b"]}")
