"""What becomes of the roles of every cluster, and of aggregated ones."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.apiserver.auth.bootstrap_policy import AUTO_UPDATE, bootstrap_objects
from mooring.apiserver.auth.role_index import RoleIndex
from mooring.apiserver.lifecycle.access_roles.decide import (
    aggregated_rules,
    is_bound_elsewhere,
    reconciled,
)
from mooring.model.document import Doc
from mooring.model.kubernetes_version import V1_35, V1_37

READ = {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}
GET = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
LIST = {"verbs": ["list"], "apiGroups": [""], "resources": ["pods"]}
ALL = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
ONE = {**READ, "resourceNames": ["one"]}
PATH = {"verbs": ["get"], "nonResourceURLs": ["/metrics"]}
JANE, JOE = ({"kind": "User", "name": name} for name in ("jane", "joe"))


def a_role(*rules: Doc, auto: str = "true", **fields: Any) -> Doc:
    metadata = {"name": "r", "labels": {"l": "1"}, "annotations": {AUTO_UPDATE: auto}}
    return {"metadata": metadata | fields, "rules": list(rules)}


def a_binding(*subjects: Doc, role: str = "r", auto: str = "true") -> Doc:
    metadata = {"name": "b", "labels": {"l": "1"}, "annotations": {AUTO_UPDATE: auto}}
    return {"metadata": metadata, "roleRef": {"name": role}, "subjects": list(subjects)}


RULES = {
    "the same": ([READ], [READ], [READ]),
    "none": ([READ], [], [READ]),
    "more are kept": ([READ], [READ, PATH], [READ, PATH]),
    "covered by two": ([READ], [GET, LIST], [GET, LIST]),
    "covered by everything": ([READ, ONE], [ALL], [ALL]),
    "covered in part": ([READ], [GET], [GET, READ]),
    "a rule for one name covers no rule for all": ([READ], [ONE], [ONE, READ]),
    "a rule for all covers a rule for one name": ([ONE], [READ], [READ]),
    "resources cover no paths": ([PATH], [ALL], [ALL, PATH]),
}


@pytest.mark.parametrize(("wanted", "found", "then"), RULES.values(), ids=RULES)
def test_missing_rules_are_added(wanted: list[Doc], found: list[Doc], then: list[Doc]) -> None:
    assert reconciled(a_role(*wanted), a_role(*found))["rules"] == then


def test_what_is_complete_is_not_written() -> None:
    found = a_role(READ, PATH)
    assert reconciled(a_role(READ), found) is found


def test_a_role_that_says_so_is_left_alone() -> None:
    found = a_role(auto="false")
    assert reconciled(a_role(READ), found) is found
    bound = a_binding(auto="false", role="other")
    assert reconciled(a_binding(JANE), bound) is bound
    assert not is_bound_elsewhere(a_binding(JANE), bound)


def test_labels_and_annotations_are_added_and_a_users_own_kept() -> None:
    found = a_role(READ, labels={"mine": "2", "l": "changed"}, annotations=None)
    metadata = reconciled(a_role(READ), found)["metadata"]
    assert metadata["labels"] == {"mine": "2", "l": "changed"}
    assert metadata["annotations"] == {AUTO_UPDATE: "true"}


def test_missing_subjects_are_added() -> None:
    assert reconciled(a_binding(JANE), a_binding(JOE))["subjects"] == [JOE, JANE]


def test_a_binding_of_another_role_is_made_anew() -> None:
    assert is_bound_elsewhere(a_binding(JANE), a_binding(JANE, role="other"))
    assert not is_bound_elsewhere(a_binding(JANE), a_binding(JOE))


@given(st.data())
def test_whatever_was_taken_away_is_there_again_and_then_nothing_is_written(
    data: st.DataObject,
) -> None:
    for wanted in bootstrap_objects()[:20]:
        rules = wanted.doc.get("rules") or []
        kept = data.draw(st.lists(st.sampled_from(rules), unique_by=id)) if rules else []
        found = reconciled(wanted.doc, {**wanted.doc, "rules": kept})
        assert reconciled(wanted.doc, found) is found
        if "aggregationRule" not in wanted.doc:
            assert all(rule in found["rules"] for rule in rules)


def test_a_release_has_the_roles_and_rules_of_its_own() -> None:
    older, newer = (
        {
            each.name: each.doc
            for each in bootstrap_objects(release)
            if each.plural == "clusterroles"
        }
        for release in (V1_35, V1_37)
    )
    assert len(newer) - len(older) == 5
    assert "system:controller:storage-version-migrator-controller" not in older
    status = {
        "verbs": ["update"],
        "apiGroups": [""],
        "resources": ["persistentvolumeclaims/status"],
    }
    protection = "system:controller:pvc-protection-controller"
    assert status in newer[protection]["rules"]
    assert status not in older[protection]["rules"]
    services = {"verbs": ["get"], "apiGroups": [""], "resources": ["services"]}
    binder = "system:controller:persistent-volume-binder"
    assert services in older[binder]["rules"]
    assert services not in newer[binder]["rules"]


# aggregation


def labelled(name: str, *rules: Doc, **fields: Any) -> Doc:
    return {
        "metadata": {"name": name, "labels": {f"to-{name[0]}": "1"}},
        "rules": [*rules],
    } | fields


def made_of(label: str) -> Doc:
    return {"clusterRoleSelectors": [{"matchLabels": {label: "1"}}]}


def test_rules_of_chosen_roles_are_joined_by_name_without_repetition() -> None:
    whole = labelled("whole", PATH, aggregationRule=made_of("to-a"))
    others = [labelled("a2", LIST, GET), whole, labelled("a1", GET), labelled("b", ALL)]
    assert aggregated_rules("whole", RoleIndex(others)) == [GET, LIST]


def test_a_role_is_never_part_of_itself() -> None:
    whole = labelled("a", PATH, aggregationRule=made_of("to-a"))
    assert aggregated_rules("a", RoleIndex([whole])) == []


def test_other_roles_are_not_touched() -> None:
    assert aggregated_rules("a", RoleIndex([labelled("a", GET)])) is None


def in_circle(name: str, part: str, label: str, *rules: Doc) -> Doc:
    """A role that is made of those with `part`, and is one with `label` itself."""
    doc = labelled(name, *rules)
    doc["metadata"]["labels"] = {label: "true"}
    doc["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": {part: "true"}}]}
    return doc


CIRCLES = {
    "two": [in_circle("a", "y", "x", GET), in_circle("b", "x", "y", LIST)],
    "three": [
        in_circle("a", "y", "x", GET),
        in_circle("b", "z", "y", LIST),
        in_circle("c", "x", "z"),
    ],
    "itself": [in_circle("a", "x", "x", GET)],
}


@pytest.mark.parametrize("circle", CIRCLES.values(), ids=CIRCLES)
def test_roles_that_are_made_of_each_other_come_to_rest(circle: list[Doc]) -> None:
    base = labelled("base", LIST)
    base["metadata"]["labels"] = {"x": "true"}
    roles = [*circle, base]
    before: list[Doc] = []
    for _ in range(3):
        before = roles
        index = RoleIndex(before)
        made = [aggregated_rules(role["metadata"]["name"], index) for role in before]
        roles = [
            role if rules is None else {**role, "rules": rules}
            for role, rules in zip(before, made, strict=True)
        ]
    assert roles == before
    assert all(role["rules"] == [LIST] for role in roles)
