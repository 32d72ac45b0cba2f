"""What roles and bindings have in common: rules, subjects, and how they are shown."""

from collections.abc import Iterable
from typing import Any

from mooring.apiserver.kinds.cells import age_of, name_of
from mooring.apiserver.kinds.contract import AGE, NAME, Column
from mooring.apiserver.kinds.immutability import same, validate_unchanged
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, invalid, not_supported, required
from mooring.model.names import dns_subdomain, path_segment

GROUP = "rbac.authorization.k8s.io"

_SUBJECT_GROUPS = {"User": GROUP, "Group": GROUP, "ServiceAccount": ""}

ROLE_COLUMNS = (NAME, Column("Created At", type="date"))
BINDING_COLUMNS = (
    NAME,
    Column("Role"),
    AGE,
    Column("Users", wide=True),
    Column("Groups", wide=True),
    Column("ServiceAccounts", wide=True),
)


def role_row(doc: Doc, _: str) -> list[Any]:
    return [name_of(doc), doc["metadata"].get("creationTimestamp")]


def binding_row(doc: Doc, now: str) -> list[Any]:
    role = doc["roleRef"]
    named: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for subject in doc.get("subjects", ()):
        if (kind := subject.get("kind")) in named:
            in_namespace = subject.get("namespace")
            where = f"{in_namespace}/" if kind == "ServiceAccount" and in_namespace else ""
            named[kind].append(f"{where}{subject.get('name', '')}")
    return [
        name_of(doc),
        f"{role.get('kind', '')}/{role.get('name', '')}",
        age_of(doc, now),
        *(", ".join(names) for names in named.values()),
    ]


def default_binding(doc: Doc) -> None:
    role = doc.setdefault("roleRef", {})
    if not role.get("apiGroup"):
        role["apiGroup"] = GROUP
    for subject in doc.get("subjects", ()):
        group = _SUBJECT_GROUPS.get(subject.get("kind", ""))
        if group and not subject.get("apiGroup"):
            subject["apiGroup"] = group


def validate_rules(doc: Doc, *, namespaced: bool) -> Iterable[FieldError]:
    for index, rule in enumerate(doc.get("rules") or ()):
        yield from _validate_rule(rule, f"rules[{index}]", namespaced=namespaced)


def in_older_words(errors: Iterable[FieldError]) -> Iterable[FieldError]:
    for error in errors:
        if error.field.endswith("].verbs"):
            yield required(error.field, "verbs must contain at least one value")
        else:
            yield error


def _validate_rule(rule: Doc, path: str, *, namespaced: bool) -> Iterable[FieldError]:
    if not rule.get("verbs"):
        yield required(f"{path}.verbs")
    if urls := rule.get("nonResourceURLs"):
        field = f"{path}.nonResourceURLs"
        if namespaced:
            yield invalid(field, urls, "namespaced rules cannot apply to non-resource URLs")
        if any(rule.get(other) for other in ("apiGroups", "resources", "resourceNames")):
            both = "rules cannot apply to both regular resources and non-resource URLs"
            yield invalid(field, urls, both)
        return
    if not rule.get("apiGroups"):
        yield required(f"{path}.apiGroups", "resource rules must supply at least one api group")
    if not rule.get("resources"):
        yield required(f"{path}.resources", "resource rules must supply at least one resource")


def validate_binding(
    doc: Doc, role_kinds: tuple[str, ...], *, namespaced: bool
) -> Iterable[FieldError]:
    role = doc["roleRef"]
    if role.get("apiGroup") != GROUP:
        yield not_supported("roleRef.apiGroup", role.get("apiGroup", ""), (GROUP,))
    if role.get("kind") not in role_kinds:
        yield not_supported("roleRef.kind", role.get("kind", ""), role_kinds)
    if name := role.get("name"):
        for problem in path_segment(name):
            yield invalid("roleRef.name", name, problem)
    else:
        yield required("roleRef.name")
    for index, subject in enumerate(doc.get("subjects", ())):
        yield from _validate_subject(subject, f"subjects[{index}]", namespaced=namespaced)


def _validate_subject(subject: Doc, path: str, *, namespaced: bool) -> Iterable[FieldError]:
    name, kind = subject.get("name", ""), subject.get("kind", "")
    group = subject.get("apiGroup", "")
    if not name:
        yield required(f"{path}.name")
    if kind not in _SUBJECT_GROUPS:
        yield not_supported(f"{path}.kind", kind, ("ServiceAccount", "User", "Group"))
        return
    if kind == "ServiceAccount" and name:
        for problem in dns_subdomain(name):
            yield invalid(f"{path}.name", name, problem)
    if group != _SUBJECT_GROUPS[kind]:
        yield not_supported(f"{path}.apiGroup", group, (_SUBJECT_GROUPS[kind],))
    if kind == "ServiceAccount" and not namespaced and not subject.get("namespace"):
        yield required(f"{path}.namespace")


def validate_same_role(new: Doc, old: Doc) -> Iterable[FieldError]:
    yield from validate_unchanged("roleRef", new["roleRef"], old["roleRef"])


def validate_same_role_before(new: Doc, old: Doc) -> Iterable[FieldError]:
    if not same(new["roleRef"], old["roleRef"]):
        yield invalid("roleRef", new["roleRef"], "cannot change roleRef")
