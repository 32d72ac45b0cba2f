"""Which writes a webhook or a policy is about: rules, and labels of objects and namespaces."""

from collections.abc import Iterable

import msgspec

from mooring.apiserver.admission.contract import AdmissionAttributes, Objects
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.kinds.registry import Kinds
from mooring.model.document import Doc
from mooring.model.selector import LabelSelector, from_document

_ALL = "*"


class ScopeRule(msgspec.Struct, frozen=True):
    """Writes by what is written, and how."""

    operations: frozenset[str]
    groups: frozenset[str]
    versions: frozenset[str]
    resources: frozenset[str]
    scope: str
    names: frozenset[str] = frozenset()  # of objects; none: all of them

    def covers(self, group: str, version: str, resource: str, part: str, operation: str) -> bool:
        return (
            _has(self.operations, operation)
            and _has(self.groups, group)
            and _has(self.versions, version)
            and any(_covers(one, resource, part) for one in self.resources)
        )

    def covers_scope(self, *, namespaced: bool) -> bool:
        return self.scope in (_ALL, "Namespaced" if namespaced else "Cluster")


_EVERYTHING = ScopeRule(
    frozenset((_ALL,)), frozenset((_ALL,)), frozenset((_ALL,)), frozenset(("*/*",)), _ALL
)


def _has(chosen: frozenset[str], value: str) -> bool:
    return _ALL in chosen or value in chosen


def _covers(chosen: str, resource: str, part: str) -> bool:
    wanted, slash, wanted_part = chosen.partition("/")
    if wanted not in (_ALL, resource):
        return False
    return wanted_part in (_ALL, part) if slash else not part


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """The writes that a webhook or a policy is about."""

    rules: tuple[ScopeRule, ...]
    excluded: tuple[ScopeRule, ...] = ()
    is_equivalent: bool
    namespaces: LabelSelector
    objects: LabelSelector

    def kind_of(
        self, attributes: AdmissionAttributes, kinds: Kinds, objects: Objects
    ) -> Kind | None:
        """The version of the kind that it names, if it is about this write."""
        kind = self.named_kind(attributes, kinds)
        return kind if kind is not None and self.selects(attributes, objects) else None

    def named_kind(self, attributes: AdmissionAttributes, kinds: Kinds) -> Kind | None:
        """The version of the written kind that its rules name, the written one first."""
        written = attributes.kind
        same = [written]
        if self.is_equivalent:
            path = (written.group, written.plural)
            same += (
                kind
                for kind in kinds.all()
                if kind is not written and (kind.group, kind.plural) == path
            )
        if any(_is_named(self.excluded, kind, attributes) for kind in same):
            return None
        return next((kind for kind in same if _is_named(self.rules, kind, attributes)), None)

    def selects(self, attributes: AdmissionAttributes, objects: Objects) -> bool:
        """Whether its selectors choose the object that is written."""
        return self._selects_namespace(attributes, objects) and any(
            self.objects.matches(labels) for labels in _object_labels(attributes)
        )

    def _selects_namespace(self, attributes: AdmissionAttributes, objects: Objects) -> bool:
        if self.namespaces.empty:
            return True
        if attributes.kind.resource == "namespaces":
            return any(self.namespaces.matches(labels) for labels in _object_labels(attributes))
        if not attributes.namespace:
            return True
        found = objects.find("namespaces", "", attributes.namespace)
        return found is not None and self.namespaces.matches(found["metadata"].get("labels") or {})


def _is_named(rules: Iterable[ScopeRule], kind: Kind, attributes: AdmissionAttributes) -> bool:
    asked = (attributes.subresource, attributes.operation.value)
    return any(
        rule.covers(kind.group, kind.version, kind.plural, *asked)
        and rule.covers_scope(namespaced=kind.namespaced)
        and (not rule.names or attributes.name in rule.names)
        for rule in rules
    )


def _object_labels(attributes: AdmissionAttributes) -> Iterable[dict[str, str]]:
    for doc in (attributes.new, attributes.old):
        if doc is not None:
            yield (doc.get("metadata") or {}).get("labels") or {}


def read_scope(match: Doc, rules: str = "resourceRules") -> Scope:
    """From `matchConstraints` of a policy, or from a webhook, whose rules are called `rules`."""
    return Scope(
        rules=tuple(map(_read_rule, match.get(rules) or ())),
        excluded=tuple(map(_read_rule, match.get("excludeResourceRules") or ())),
        is_equivalent=match.get("matchPolicy") != "Exact",
        namespaces=from_document(match.get("namespaceSelector") or {}),
        objects=from_document(match.get("objectSelector") or {}),
    )


def read_binding_scope(match: Doc) -> Scope:
    """From `matchResources` of a binding, which only narrows: without rules it is about all."""
    scope = read_scope(match)
    return scope if scope.rules else msgspec.structs.replace(scope, rules=(_EVERYTHING,))


def _read_rule(rule: Doc) -> ScopeRule:
    return ScopeRule(
        frozenset(rule.get("operations") or ()),
        frozenset(rule.get("apiGroups") or ()),
        frozenset(rule.get("apiVersions") or ()),
        frozenset(rule.get("resources") or ()),
        rule.get("scope") or _ALL,
        frozenset(rule.get("resourceNames") or ()),
    )
