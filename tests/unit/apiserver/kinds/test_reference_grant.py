from typing import Any

import pytest

from mooring.apiserver.kinds.reference_grant import MOST, REFERENCE_GRANT, REFERENCE_GRANT_V1

FROM = {"group": "", "kind": "PersistentVolumeClaim", "namespace": "dev"}
TO = {"group": "", "kind": "PersistentVolumeClaim"}
CASES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "all of a kind": ({"from": [FROM], "to": [TO]}, []),
    "one by its name": ({"from": [FROM], "to": [{**TO, "name": "data"}]}, []),
    "nothing said": ({}, ["spec.from", "spec.to"]),
    "nobody": ({"from": [], "to": [TO]}, ["spec.from"]),
    "no namespace": (
        {"from": [{"group": "", "kind": "PersistentVolumeClaim"}], "to": [TO]},
        ["spec.from[0].namespace"],
    ),
    "an empty namespace": (
        {"from": [{**FROM, "namespace": ""}], "to": [TO]},
        ["spec.from[0].namespace"],
    ),
    "no kind": ({"from": [FROM], "to": [{"group": ""}]}, ["spec.to[0].kind"]),
    "too many": ({"from": [FROM], "to": [TO] * (MOST + 1)}, ["spec.to"]),
}


@pytest.mark.parametrize(("spec", "wrong"), CASES.values(), ids=CASES)
@pytest.mark.parametrize("kind", [REFERENCE_GRANT, REFERENCE_GRANT_V1])
def test_a_grant(kind: Any, spec: dict[str, Any], wrong: list[str]) -> None:
    assert [error.field for error in kind.validate({"spec": spec})] == wrong


def test_a_grant_without_a_spec() -> None:
    assert [error.field for error in REFERENCE_GRANT.validate({})] == ["spec"]
