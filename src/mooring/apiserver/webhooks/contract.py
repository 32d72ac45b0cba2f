"""A webhook as it was configured, ready to be compared with writes."""

from collections.abc import Callable, Iterable

import msgspec

from mooring.apiserver.admission.contract import AdmissionAttributes
from mooring.model.document import Doc
from mooring.model.selector import LabelSelector, from_document

_ALL = "*"
_KNOWN_REVIEWS = ("v1", "v1beta1")


class HookRule(msgspec.Struct, frozen=True):
    """Writes that a webhook is asked about."""

    operations: frozenset[str]
    groups: frozenset[str]
    versions: frozenset[str]
    resources: frozenset[str]
    scope: str

    def covers(self, group: str, version: str, resource: str, part: str, operation: str) -> bool:
        return (
            _has(self.operations, operation)
            and _has(self.groups, group)
            and _has(self.versions, version)
            and any(_covers(one, resource, part) for one in self.resources)
        )

    def covers_scope(self, *, namespaced: bool) -> bool:
        return self.scope in (_ALL, "Namespaced" if namespaced else "Cluster")


def _has(chosen: frozenset[str], value: str) -> bool:
    return _ALL in chosen or value in chosen


def _covers(chosen: str, resource: str, part: str) -> bool:
    wanted, slash, wanted_part = chosen.partition("/")
    if wanted not in (_ALL, resource):
        return False
    return wanted_part in (_ALL, part) if slash else not part


class Hook(msgspec.Struct, frozen=True, kw_only=True):
    """One webhook of a configuration."""

    configuration: str
    name: str
    client: Doc  # clientConfig
    rules: tuple[HookRule, ...]
    fails_closed: bool
    is_equivalent: bool
    namespaces: LabelSelector
    objects: LabelSelector
    seconds: float
    review: str  # the version of AdmissionReview that it is sent
    is_reinvoked: bool = False


def read_hooks(configuration: Doc) -> tuple[Hook, ...]:
    """The webhooks of a configuration, in their order."""
    name = configuration["metadata"]["name"]
    return tuple(_read(name, hook) for hook in configuration.get("webhooks") or ())


def _read(configuration: str, hook: Doc) -> Hook:
    reviews = hook["admissionReviewVersions"]
    return Hook(
        configuration=configuration,
        name=hook["name"],
        client=hook["clientConfig"],
        rules=tuple(map(_read_rule, hook.get("rules") or ())),
        fails_closed=hook.get("failurePolicy") != "Ignore",
        is_equivalent=hook.get("matchPolicy") != "Exact",
        namespaces=from_document(hook.get("namespaceSelector") or {}),
        objects=from_document(hook.get("objectSelector") or {}),
        seconds=float(hook.get("timeoutSeconds") or 10),
        review=next(version for version in reviews if version in _KNOWN_REVIEWS),
        is_reinvoked=hook.get("reinvocationPolicy") == "IfNeeded",
    )


def _read_rule(rule: Doc) -> HookRule:
    return HookRule(
        frozenset(rule.get("operations") or ()),
        frozenset(rule.get("apiGroups") or ()),
        frozenset(rule.get("apiVersions") or ()),
        frozenset(rule.get("resources") or ()),
        rule.get("scope") or _ALL,
    )


NamespaceLabels = Callable[[str], dict[str, str] | None]
"""The labels of a namespace; None when there is none of that name."""


def selects(hook: Hook, attributes: AdmissionAttributes, labels_of: NamespaceLabels) -> bool:
    """Whether its selectors choose the object that is written."""
    return _selects_namespace(hook, attributes, labels_of) and any(
        hook.objects.matches(labels) for labels in _object_labels(attributes)
    )


def _selects_namespace(
    hook: Hook, attributes: AdmissionAttributes, labels_of: NamespaceLabels
) -> bool:
    if hook.namespaces.empty:
        return True
    if attributes.kind.resource == "namespaces":
        return any(hook.namespaces.matches(labels) for labels in _object_labels(attributes))
    if not attributes.namespace:
        return True
    labels = labels_of(attributes.namespace)
    return labels is not None and hook.namespaces.matches(labels)


def _object_labels(attributes: AdmissionAttributes) -> Iterable[dict[str, str]]:
    for doc in (attributes.new, attributes.old):
        if doc is not None:
            yield (doc.get("metadata") or {}).get("labels") or {}
