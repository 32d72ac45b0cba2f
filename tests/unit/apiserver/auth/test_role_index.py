"""Which roles an aggregated one is made of, and that thousands of them cost little."""

import time

import pytest

from mooring.apiserver.auth.role_index import RoleIndex
from mooring.apiserver.lifecycle.access_roles.decide import aggregated_rules
from mooring.model.document import Doc

MANY = 2_500
LONGEST = 0.1  # seconds of CPU that one role may take


def a_role(number: int, selector: Doc | None = None) -> Doc:
    rule = {"verbs": ["get"], "apiGroups": [""], "resources": [f"x{number}"]}
    labels = {"group": f"g{number % 50}"}
    role: Doc = {"metadata": {"name": f"r{number:05}", "labels": labels}, "rules": [rule]}
    if selector is not None:
        role["aggregationRule"] = {"clusterRoleSelectors": [selector]}
    return role


def not_in(value: str) -> Doc:
    return {"matchExpressions": [{"key": "group", "operator": "NotIn", "values": [value]}]}


CHOSEN = {
    "a label": ({"matchLabels": {"group": "g1"}}, {"r00001"}),
    "labels that none has together": ({"matchLabels": {"group": "g1", "other": "x"}}, set()),
    "an expression": (not_in("g1"), {"r00000", "r00002"}),
    "a label and an expression": ({"matchLabels": {"group": "g2"}, **not_in("g1")}, {"r00002"}),
    "all": ({}, {"r00000", "r00001", "r00002"}),
}


@pytest.mark.parametrize(("selector", "names"), CHOSEN.values(), ids=CHOSEN)
def test_a_selector_chooses_by_labels_and_expressions(selector: Doc, names: set[str]) -> None:
    index = RoleIndex([a_role(0, selector), a_role(1), a_role(2)])
    assert index.chosen("r00000") == names


@pytest.mark.parametrize("selector", [{"matchLabels": {"group": "g1"}}, not_in("none")])
def test_of_thousands_of_aggregated_roles_each_takes_little_time(selector: Doc) -> None:
    roles = [a_role(number, selector if number % 2 else None) for number in range(MANY)]
    index, worst = RoleIndex(roles), 0.0
    for name in index.roles:
        began = time.thread_time()
        index.chosen(name)
        worst = max(worst, time.thread_time() - began)
    for name in list(index.roles)[:100]:
        began = time.thread_time()
        aggregated_rules(name, index)
        worst = max(worst, time.thread_time() - began)
    assert worst < LONGEST
