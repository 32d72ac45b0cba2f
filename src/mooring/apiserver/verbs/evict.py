"""POST pods/<p>/eviction: delete a pod, unless that would violate its disruption budget.

The budget is charged where it is stored, in one decision on its newest version: however many
evictions come at once, no more are granted than it allows.
"""

from contextlib import suppress
from enum import Enum

import msgspec

from mooring.apiserver.admission.contract import AdmissionAttributes, Operation
from mooring.apiserver.documents.document import decode, encode
from mooring.apiserver.documents.objects import store_name
from mooring.apiserver.kinds.disruption_budget import DISRUPTION_BUDGET, GROUP
from mooring.apiserver.request.message import Response
from mooring.apiserver.request.refusals import conflict, not_found
from mooring.apiserver.store.contract import Change, Decide, Entry
from mooring.apiserver.verbs.answering import success
from mooring.apiserver.verbs.backend import Backend, Call
from mooring.apiserver.verbs.changing import change_of
from mooring.apiserver.verbs.decoding import body_options, decode_body
from mooring.apiserver.verbs.delete import DeleteOptions, checked_options, delete_object
from mooring.apiserver.verbs.disruptions import (
    VIOLATION,
    charged,
    is_unhealthy_and_free,
    matching_budgets,
    may_ignore_budgets,
)
from mooring.errors import BadRequest, Conflict, ServerError, TooManyRequests
from mooring.model.document import Doc

MOST_TRIES = 20
_MANY = (
    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not "
    "support."
)


class _Grant(Enum):
    """On what condition a pod may go."""

    AS_IT_IS = "as it is"  # it does not serve: it must not have begun to
    CHARGED = "charged"  # to its budget, or it has none


VERSIONS = ("policy/v1", "policy/v1beta1")  # older clients send the latter


async def evict(backend: Backend, call: Call) -> Response:
    options = body_options(call, "CreateOptions")
    eviction = _decode(call, options.validation)
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
    await backend.admission.judge(attributes, backend.objects)
    await backend.webhooks.judge(attributes)
    asked = checked_options(eviction.get("deleteOptions", {}), dry_run=options.dry_run)
    await _evict(backend, call, asked)
    return Response(201, encode(success(code=201)))


def _decode(call: Call, validation: str) -> Doc:
    """Raises: BadRequest, in the words for the newer version."""
    newest, older = VERSIONS
    message, kind = "policy.v1.Eviction", "Eviction"
    try:
        return decode_body(call, validation, message=message, kind=kind, api_version=newest)[0]
    except BadRequest:
        with suppress(BadRequest):
            return decode_body(call, validation, message=message, kind=kind, api_version=older)[0]
        raise


async def _evict(backend: Backend, call: Call, asked: DeleteOptions) -> None:
    for _ in range(MOST_TRIES):
        pod = _read(backend, call)
        await delete_object(backend, call, msgspec.structs.replace(asked, dry_run=True))
        grant = await _grant(backend, pod, dry_run=asked.dry_run)
        if asked.dry_run:
            return
        version = pod["metadata"]["resourceVersion"] if grant is _Grant.AS_IT_IS else ""
        try:
            await _delete(backend, call, asked, version)
        except Conflict:
            if asked.version or grant is _Grant.CHARGED:
                raise
            continue  # it changed meanwhile: its budget may have a say now
        return
    raise TooManyRequests(VIOLATION, retry_after=10)


def _read(backend: Backend, call: Call) -> Doc:
    entry = backend.store.get(call.kind.store_table, call.store_name)
    if entry is None:
        raise not_found(call.kind, call.name)
    return decode(call.kind, entry)


async def _grant(backend: Backend, pod: Doc, *, dry_run: bool) -> _Grant:
    """Raises: TooManyRequests when the pod's budget does not allow it."""
    if may_ignore_budgets(pod):
        return _Grant.AS_IT_IS
    namespace = pod["metadata"]["namespace"]
    budgets = backend.objects.all(DISRUPTION_BUDGET.plural, namespace, GROUP)
    found = matching_budgets(budgets, pod)
    if len(found) > 1:
        raise ServerError(_MANY)
    for budget in found:
        if is_unhealthy_and_free(budget, pod):
            return _Grant.AS_IT_IS
        if dry_run:
            charged(budget, pod["metadata"]["name"], backend.now())
        else:
            await _charge(backend, budget, pod["metadata"]["name"])
    return _Grant.CHARGED


async def _charge(backend: Backend, budget: Doc, pod: str) -> None:
    kind, metadata = DISRUPTION_BUDGET, budget["metadata"]

    def decide(entry: Entry | None) -> Change:
        if entry is None:
            return None  # it is gone: nothing stands in the way
        newest = decode(kind, entry)
        if newest["metadata"]["uid"] != metadata["uid"]:
            raise conflict(kind, metadata["name"])
        return change_of(kind, charged(newest, pod, backend.now()))

    place = store_name(kind, metadata["namespace"], metadata["name"])
    await backend.store.write(kind.store_table, place, decide)


async def _delete(backend: Backend, call: Call, asked: DeleteOptions, version: str) -> None:
    """`version`: the pod must still be of it. Raises: Conflict when it is not."""
    decide = _marking(backend, call, version)
    marked = await backend.store.write(call.kind.store_table, call.store_name, decide)
    expected = str(marked.revision) if version and marked is not None else ""
    await delete_object(backend, call, msgspec.structs.replace(asked, version=expected))


def _marking(backend: Backend, call: Call, version: str) -> Decide:
    """Set the DisruptionTarget condition in the pod's status."""

    def decide(entry: Entry | None) -> Change:
        if entry is None:
            raise not_found(call.kind, call.name)
        pod = decode(call.kind, entry)
        if version not in ("", pod["metadata"]["resourceVersion"]):
            raise conflict(call.kind, call.name)
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
