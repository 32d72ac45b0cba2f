"""POST pods/<p>/eviction: delete a pod on behalf of a client that drains its node.

No kind says how many pods of an application must stay up, so nothing stands in the way of it.
"""

import msgspec

from mooring.apiserver.admission.contract import AdmissionAttributes, Operation
from mooring.apiserver.documents.document import decode, encode
from mooring.apiserver.request.message import Response
from mooring.apiserver.request.refusals import not_found
from mooring.apiserver.store.contract import Change, Decide, Entry
from mooring.apiserver.verbs.answering import success
from mooring.apiserver.verbs.backend import Backend, Call
from mooring.apiserver.verbs.changing import change_of
from mooring.apiserver.verbs.decoding import body_options, decode_body
from mooring.apiserver.verbs.delete import checked_options, delete_object
from mooring.errors import BadRequest
from mooring.model.document import Doc


async def evict(backend: Backend, call: Call) -> Response:
    options = body_options(call, "CreateOptions")
    eviction, _ = decode_body(
        call,
        options.validation,
        message="policy.v1.Eviction",
        kind="Eviction",
        api_version="policy/v1",
    )
    if eviction.get("metadata", {}).get("name") != call.name:
        raise BadRequest("name in URL does not match name in Eviction object")
    attributes = AdmissionAttributes(
        Operation.CREATE,
        call.kind,
        call.user,
        call.namespace,
        call.name,
        call.route.subresource,
        new=eviction,
        dry_run=options.dry_run,
    )
    backend.admission.judge(attributes, backend.objects)
    await backend.webhooks.judge(attributes)
    asked = checked_options(eviction.get("deleteOptions", {}), dry_run=options.dry_run)
    await delete_object(backend, call, msgspec.structs.replace(asked, dry_run=True))
    if not asked.dry_run:
        await backend.store.write(call.kind.store_table, call.store_name, _marking(backend, call))
        await delete_object(backend, call, msgspec.structs.replace(asked, version=""))
    return Response(201, encode(success(code=201)))


def _marking(backend: Backend, call: Call) -> Decide:
    """Set the DisruptionTarget condition in the pod's status."""

    def decide(entry: Entry | None) -> Change:
        if entry is None:
            raise not_found(call.kind, call.name)
        pod = decode(call.kind, entry)
        status = pod.setdefault("status", {})
        others = [c for c in status.get("conditions", ()) if c.get("type") != "DisruptionTarget"]
        why: Doc = {
            "type": "DisruptionTarget",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": backend.now(),
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
        }
        status["conditions"] = [*others, why]
        return change_of(call.kind, pod)

    return decide
