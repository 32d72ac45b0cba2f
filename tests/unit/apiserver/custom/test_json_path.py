from typing import Any

import pytest

from mooring.apiserver.custom.json_path import BadPath, parse

DOC: dict[str, Any] = {
    "spec": {
        "size": 3,
        "a.b": "dotted",
        "list": [1, 2, 3],
        "items": [{"name": "x", "n": 1}, {"name": "y", "n": 5}],
    },
    "status": {
        "conditions": [
            {"type": "Ready", "status": "True"},
            {"type": "Other", "status": "False", "on": True},
        ]
    },
}

PATHS: dict[str, tuple[str, list[Any]]] = {
    "a field": (".spec.size", [3]),
    "what is missing": (".spec.nothing.below", []),
    "a field of what is no object": (".spec.size.more", []),
    "a quoted key": (".spec['a.b']", ["dotted"]),
    "a key in double quotes": ('.spec["a.b"]', ["dotted"]),
    "an escaped dot": (r".spec.a\.b", ["dotted"]),
    "an index": (".spec.list[1]", [2]),
    "an index from behind": (".spec.list[-1]", [3]),
    "an index that is not there": (".spec.list[9]", []),
    "a slice": (".spec.list[0:2]", [1, 2]),
    "every item": (".spec.items[*].name", ["x", "y"]),
    "every value": (".status.conditions[0].*", ["Ready", "True"]),
    "a filter": (".status.conditions[?(@.type=='Ready')].status", ["True"]),
    "a filter in double quotes": ('.status.conditions[?(@.type == "Other")].status', ["False"]),
    "a filter that nothing passes": (".status.conditions[?(@.type=='None')].status", []),
    "a filter by number": (".spec.items[?(@.n>1)].name", ["y"]),
    "a filter by truth": (".status.conditions[?(@.on==true)].type", ["Other"]),
    "a filter by what is there": (".status.conditions[?(@.on)].type", ["Other"]),
    "not equal": (".status.conditions[?(@.type!='Ready')].type", ["Other"]),
    "a number is no text": (".spec.items[?(@.n=='1')].name", []),
    "the whole": (".", [DOC]),
}


@pytest.mark.parametrize(("path", "found"), PATHS.values(), ids=PATHS)
def test_a_path_leads_to(path: str, found: list[Any]) -> None:
    assert list(parse(path).all(DOC)) == found


def test_of_several_values_the_first_counts() -> None:
    assert parse(".spec.list[*]").first(DOC) == 1
    assert parse(".spec.none").first(DOC) is None


BAD = (".spec[", ".spec[?(@.a=)]", ".spec[x]", ".spec.items[?(@.a==b)]")


@pytest.mark.parametrize("path", BAD)
def test_a_path_that_cannot_be_read_is_refused(path: str) -> None:
    with pytest.raises(BadPath):
        parse(path)
