"""What roles and bindings should be: pure.

As upstream's reconciliation: what is missing is added, what a user added stays, and an object whose
annotation says `autoupdate: "false"` is left alone.
"""

from collections.abc import Iterator, Sequence
from itertools import product

import msgspec

from mooring.apiserver.auth.bootstrap_policy import AUTO_UPDATE
from mooring.apiserver.auth.role_index import RoleIndex
from mooring.apiserver.auth.rules import EVERY
from mooring.model.document import Doc

_encode = msgspec.json.Encoder(order="sorted").encode

_FIELDS = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")


def reconciled(wanted: Doc, found: Doc) -> Doc:
    """`found`, with what it misses; itself when it misses nothing, or may not be changed."""
    if (found["metadata"].get("annotations") or {}).get(AUTO_UPDATE) == "false":
        return found
    new = {**found, "metadata": _with_metadata(wanted["metadata"], found["metadata"])}
    if "roleRef" in wanted:
        new["subjects"] = _union(found.get("subjects") or [], wanted["subjects"])
    elif "aggregationRule" in wanted:
        has = (found.get("aggregationRule") or {}).get("clusterRoleSelectors") or []
        selectors = _union(has, wanted["aggregationRule"]["clusterRoleSelectors"])
        new["aggregationRule"] = {"clusterRoleSelectors": selectors}
    else:
        has = found.get("rules") or []
        new["rules"] = [*has, *(rule for rule in wanted["rules"] if not _covered(rule, has))]
    return found if new == found else new


def is_bound_elsewhere(wanted: Doc, found: Doc) -> bool:
    """Whether a binding has another role: that cannot be changed, only made anew."""
    is_kept = (found["metadata"].get("annotations") or {}).get(AUTO_UPDATE) == "false"
    return "roleRef" in wanted and found["roleRef"] != wanted["roleRef"] and not is_kept


def aggregated_rules(name: str, index: RoleIndex) -> list[Doc] | None:
    """The rules of a cluster role that is made of others; None for any other.

    Of those that are made of others themselves it has what they will have: roles that are made of
    each other would else exchange their rules for ever.
    """
    if not _is_aggregated(index.roles[name]):
        return None
    seen, ahead = {name}, index.chosen(name) - {name}
    plain: list[str] = []
    while ahead:
        seen |= ahead
        inner = [each for each in ahead if _is_aggregated(index.roles[each])]
        plain += ahead.difference(inner)
        ahead = frozenset[str]().union(*set(map(index.chosen, inner))) - seen
    rules: dict[bytes, Doc] = {}
    for each in sorted(plain):
        for rule in index.roles[each].get("rules") or ():
            rules.setdefault(_encode(rule), rule)
    return list(rules.values())


def _is_aggregated(role: Doc) -> bool:
    return role.get("aggregationRule") is not None


def _with_metadata(wanted: Doc, found: Doc) -> Doc:
    parts = {
        field: {**wanted[field], **(found.get(field) or {})} for field in ("labels", "annotations")
    }
    return {**found, **parts}


def _union(has: Sequence[Doc], wanted: Sequence[Doc]) -> list[Doc]:
    return [*has, *(each for each in wanted if each not in has)]


def _covered(rule: Doc, by: Sequence[Doc]) -> bool:
    if rule in by:
        return True
    return all(any(_allows(each, one) for each in by) for one in _singles(rule))


def _singles(rule: Doc) -> Iterator[tuple[str, ...]]:
    return product(*((rule.get(field) or ("",)) for field in _FIELDS))


def _allows(rule: Doc, one: tuple[str, ...]) -> bool:
    for field, value in zip(_FIELDS, one, strict=True):
        has = rule.get(field) or []
        if field == "resourceNames":
            if has and value not in has:
                return False
        elif not has and not value:
            continue
        elif value not in has and EVERY not in has:
            return False
    return True
