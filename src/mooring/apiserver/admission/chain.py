"""Which rules look at which writes, in order. Most writes are looked at by very few."""

from collections.abc import Awaitable, Callable, Iterable

import msgspec

from mooring.apiserver.admission import (
    claim_resize,
    default_storage_class,
    default_tolerations,
    in_use_protection,
    limit_ranges,
    namespace_lifecycle,
    node_restriction,
    pod_priority,
    role_escalation,
    runtime_class,
    service_account,
)
from mooring.apiserver.admission.contract import AdmissionAttributes, Objects, Operation, Rule
from mooring.apiserver.auth.node_authorizer import NodeObjects
from mooring.apiserver.kinds.access_rules import GROUP as RBAC

CREATE, UPDATE, DELETE = Operation.CREATE, Operation.UPDATE, Operation.DELETE


class Placed(msgspec.Struct, frozen=True):
    """A rule and the writes it is about (no resources: all of them; main endpoint only)."""

    rule: Rule
    operations: frozenset[Operation]
    resources: frozenset[str] = frozenset()


def _on(rule: Rule, operations: Iterable[Operation], *resources: str) -> Placed:
    return Placed(rule, frozenset(operations), frozenset(resources))


MUTATING = (
    _on(namespace_lifecycle.check_creation, (CREATE,)),
    _on(default_storage_class.choose, (CREATE,), "persistentvolumeclaims"),
    _on(
        in_use_protection.protect,
        (CREATE,),
        "persistentvolumes",
        "persistentvolumeclaims",
        "volumeattributesclasses.storage.k8s.io",
    ),
    _on(runtime_class.check, (CREATE,), "pods"),
    _on(service_account.give, (CREATE,), "pods"),
    _on(default_tolerations.give, (CREATE, UPDATE), "pods"),
    _on(pod_priority.give, (CREATE,), "pods"),
    _on(pod_priority.keep, (UPDATE,), "pods"),
    _on(limit_ranges.give_defaults, (CREATE,), "pods"),
)
JUDGING = (
    _on(namespace_lifecycle.check_deletion, (DELETE,), "namespaces"),
    _on(pod_priority.check_default, (CREATE, UPDATE), "priorityclasses.scheduling.k8s.io"),
    _on(pod_priority.keep_system_classes, (DELETE,), "priorityclasses.scheduling.k8s.io"),
    _on(limit_ranges.check, (CREATE,), "pods"),
    _on(limit_ranges.check, (CREATE, UPDATE), "persistentvolumeclaims"),
    _on(claim_resize.check, (UPDATE,), "persistentvolumeclaims"),
    _on(
        role_escalation.check,
        (CREATE, UPDATE),
        *(f"{plural}.{RBAC}" for plural in ("roles", "rolebindings")),
        *(f"{plural}.{RBAC}" for plural in ("clusterroles", "clusterrolebindings")),
    ),
)


Policies = Callable[[AdmissionAttributes], Awaitable[None]]


async def _no_policies(_: AdmissionAttributes) -> None:
    """Nobody has made any."""


class Chain:
    """Runs the rules that concern a write."""

    def __init__(
        self,
        nodes: NodeObjects,
        policies: Policies = _no_policies,
        has_policies: Callable[[AdmissionAttributes], bool] = lambda _: False,
    ) -> None:
        self._nodes = nodes
        self._policies = policies
        self.has_policies = has_policies  # whether any is about this write
        self._placed: dict[tuple[str, Operation, str], tuple[Rule, ...]] = {}

    def mutate(self, attributes: AdmissionAttributes, objects: Objects) -> None:
        """Before validation: rules may change `attributes.new` or refuse."""
        for rule in self._rules("mutating", MUTATING, attributes):
            rule(attributes, objects)

    async def judge(self, attributes: AdmissionAttributes, objects: Objects) -> None:
        """After validation: rules may refuse. Waits only if policies take long."""
        for rule in self._rules("judging", JUDGING, attributes):
            rule(attributes, objects)
        node_restriction.check_attempt(attributes, self._nodes)
        await self._policies(attributes)

    def _rules(
        self, stage: str, placed: tuple[Placed, ...], attributes: AdmissionAttributes
    ) -> tuple[Rule, ...]:
        if attributes.subresource:
            return ()
        key = (stage, attributes.operation, attributes.kind.resource)
        rules = self._placed.get(key)
        if rules is None:
            rules = self._placed[key] = tuple(
                each.rule
                for each in placed
                if attributes.operation in each.operations
                and (not each.resources or attributes.kind.resource in each.resources)
            )
        return rules
