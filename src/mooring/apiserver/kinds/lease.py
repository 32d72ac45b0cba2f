"""Lease: who holds a role or lives on a node, and until when to believe it."""

from collections.abc import Iterable
from typing import Any

from mooring.apiserver.kinds.cells import age_of, name_of
from mooring.apiserver.kinds.contract import AGE, NAME, Column, Doc, Kind
from mooring.model.field_error import FieldError, forbidden, invalid, not_supported
from mooring.model.names import qualified_name

_STRATEGIES = ("OldestEmulationVersion",)


def _defaults(doc: Doc) -> None:
    doc.setdefault("spec", {})


def _validate(doc: Doc) -> Iterable[FieldError]:
    spec = doc["spec"]
    seconds = spec.get("leaseDurationSeconds")
    if seconds is not None and seconds <= 0:
        yield invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0")
    transitions = spec.get("leaseTransitions", 0)
    if transitions < 0:
        yield invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0")
    strategy = spec.get("strategy")
    if strategy is not None:
        yield from _validate_strategy(strategy)
    if spec.get("preferredHolder") and not strategy:
        yield forbidden("spec.preferredHolder", "may only be specified if `strategy` is defined")


def _validate_strategy(strategy: str) -> Iterable[FieldError]:
    """A strategy of Kubernetes, or one in a domain of its own."""
    if "/" in strategy:
        for problem in qualified_name(strategy):
            yield invalid("spec.strategy", strategy, problem)
    elif strategy not in _STRATEGIES:
        yield not_supported("spec.strategy", strategy, _STRATEGIES)


def _row(doc: Doc, now: str) -> list[Any]:
    return [name_of(doc), doc["spec"].get("holderIdentity", ""), age_of(doc, now)]


LEASE = Kind(
    group="coordination.k8s.io",
    version="v1",
    kind="Lease",
    plural="leases",
    message="coordination.v1.Lease",
    namespaced=True,
    columns=(NAME, Column("Holder"), AGE),
    row=_row,
    defaults=_defaults,
    validate=_validate,
    update_needs_version=True,
    update_creates=True,
    deleted_as_status=True,
)
