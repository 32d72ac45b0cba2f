"""GET of one object (or of its status, which is the same document)."""

from mooring.apiserver.request.message import Response
from mooring.apiserver.request.options import first, parse_query
from mooring.apiserver.request.refusals import not_found
from mooring.apiserver.verbs.answering import answer_entry
from mooring.apiserver.verbs.backend import Backend, Call
from mooring.apiserver.verbs.reading import catch_up, version_flaw
from mooring.errors import ServerError


async def get(backend: Backend, call: Call) -> Response:
    version = first(parse_query(call.request.query), "resourceVersion")
    if flaw := version_flaw(version):
        raise ServerError(flaw)
    await catch_up(backend, version)
    entry = backend.store.get(call.kind.store_table, call.store_name)
    if entry is None:
        raise not_found(call.kind, call.name)
    shown = await backend.conversions.readable_one(call.kind, entry)
    return answer_entry(backend, call, 200, shown, [])
