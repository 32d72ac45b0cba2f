"""Paths that schemas hold themselves."""

import pytest

from mooring.apiserver.structural.field_paths import BadFieldPath, find_field
from tests.unit.apiserver.structural.schemas import a_list, a_text, an_integer, an_object

SCHEMA = an_object(
    **{
        "spec": an_object(
            **{"a": a_text(), "a.b": an_integer(), "it's": a_text(), "l": a_list(a_text())}
        ),
        "m": {"type": "object", "additionalProperties": an_object(x=a_text())},
    }
)


@pytest.mark.parametrize(
    ("path", "spelled", "type_"),
    [
        (".spec.a", "spec.a", "string"),
        (".spec['a.b']", "spec.a.b", "integer"),
        ("['spec']['a']", "spec.a", "string"),
        (r".spec['it\'s']", "spec.it's", "string"),
        (".m.key.x", "m[key].x", "string"),
        (".m['any key'].x", "m[any key].x", "string"),
        (".spec.l", "spec.l", "array"),
    ],
)
def test_it_leads_to_a_field(path: str, spelled: str, type_: str) -> None:
    found, schema = find_field(path, SCHEMA)
    assert (found, schema["type"]) == (spelled, type_)


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("spec", "expected [ or . but got: spec"),
        (".", "unexpected end of JSON path"),
        (".spec.b", "does not refer to a valid field"),
        (".spec.a.b", "does not refer to a valid field"),
        (".spec.l[0]", "expected single quoted string but got 0"),
        (".spec['a'", "unexpected end of JSON path"),
        (".spec[", "unexpected end of JSON path"),
        (".spec['a'.", "expected ] but got ."),
        (".spec['a", "expected single quoted string but got 'a"),
    ],
)
def test_it_leads_nowhere(path: str, why: str) -> None:
    with pytest.raises(BadFieldPath) as raised:
        find_field(path, SCHEMA)
    assert str(raised.value) == why


def test_brackets_may_be_forbidden() -> None:
    with pytest.raises(BadFieldPath, match="array notation is not allowed"):
        find_field(".spec['a']", SCHEMA, quoted=False)


def test_a_long_path_is_read_in_no_time() -> None:
    for part in ("'", "['", "\\", ".", "['\\'"):
        with pytest.raises(BadFieldPath):
            find_field(".spec[" + part * 200_000, SCHEMA)
