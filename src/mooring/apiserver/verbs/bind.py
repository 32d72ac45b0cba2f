"""POST pods/<p>/binding: put a pod on a node."""

from mooring.apiserver.admission.contract import AdmissionAttributes, Operation
from mooring.apiserver.documents.document import decode, encode
from mooring.apiserver.request.message import Response
from mooring.apiserver.request.refusals import conflict_as, invalid_as, not_found
from mooring.apiserver.store.contract import Change, Entry
from mooring.apiserver.verbs.answering import success
from mooring.apiserver.verbs.backend import Backend, Call
from mooring.apiserver.verbs.before_write import check_uid
from mooring.apiserver.verbs.changing import change_of
from mooring.apiserver.verbs.decoding import body_options, decode_body
from mooring.errors import BadRequest, Conflict
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, invalid, not_supported, required
from mooring.model.names import dns_subdomain


async def bind(backend: Backend, call: Call) -> Response:
    options = body_options(call, "CreateOptions")
    binding, _ = decode_body(
        call, options.validation, message="core.v1.Binding", kind="Binding", api_version="v1"
    )
    if binding.get("metadata", {}).get("name", call.name) != call.name:
        raise BadRequest("name in URL does not match name in Binding object")
    node = _target(call, binding, strictly=backend.kinds.release.checks_bound_nodes)

    attributes = AdmissionAttributes(
        Operation.CREATE,
        call.kind,
        call.user,
        call.namespace,
        call.name,
        call.route.subresource,
        new=binding,
        dry_run=options.dry_run,
    )
    await backend.webhooks.judge(attributes)

    def decide(entry: Entry | None) -> Change:
        if entry is None:
            raise not_found(call.kind, call.name)
        pod = decode(call.kind, entry)
        _assign(call, pod, node, binding, backend.now())
        return change_of(call.kind, pod)

    if options.dry_run:
        decide(backend.store.get(call.kind.store_table, call.store_name))
    else:
        await backend.store.write(call.kind.store_table, call.store_name, decide)
    return Response(201, encode(success(code=201)))


def _target(call: Call, binding: Doc, *, strictly: bool) -> str:
    """`strictly`: what no node can be called is refused."""
    target = binding.get("target", {})
    errors: list[FieldError] = []
    if target.get("kind") not in (None, "", "Node"):
        errors.append(not_supported("target.kind", target["kind"], ("Node", "<empty>")))
    if not target.get("name"):
        errors.append(required("target.name"))
    elif strictly and not errors:
        problems = dns_subdomain(target["name"])
        errors += (invalid("target.name", target["name"], problem) for problem in problems)
    if errors:
        raise invalid_as("Binding", "", call.name, errors)
    return str(target["name"])


def _assign(call: Call, pod: Doc, node: str, binding: Doc, now: str) -> None:
    spec, metadata = pod["spec"], pod["metadata"]
    if "deletionTimestamp" in metadata:
        why = f"pod {call.name} is being deleted, cannot be assigned to a host"
        raise _conflict(call, why)
    if spec.get("nodeName"):
        raise _conflict(call, f'pod {call.name} is already assigned to node "{spec["nodeName"]}"')
    if spec.get("schedulingGates"):
        raise _conflict(call, f"pod {call.name} has non-empty .spec.schedulingGates")
    meant = binding.get("metadata", {}).get("uid", "")
    check_uid(call.kind, call.name, meant, metadata["uid"])
    spec["nodeName"] = node
    annotations = binding.get("metadata", {}).get("annotations")
    if annotations:
        metadata["annotations"] = {**metadata.get("annotations", {}), **annotations}
    status = pod.setdefault("status", {})
    status.pop("nominatedNodeName", None)
    others = [c for c in status.get("conditions", ()) if c.get("type") != "PodScheduled"]
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": now}
    status["conditions"] = [*others, {**scheduled, "lastProbeTime": None}]


def _conflict(call: Call, why: str) -> Conflict:
    return conflict_as(call.kind.group, f"{call.kind.plural}/binding", call.name, why)
