"""Well-known names: each is a legal key, and none is listed twice in its group."""

import pytest

from mooring.model import wellknown
from mooring.model.names import qualified_name

GROUPS = [
    wellknown.Annotation,
    wellknown.Label,
    wellknown.Finalizer,
    wellknown.TaintKey,
    wellknown.Plugin,
]


def names_in(group: type) -> dict[str, str]:
    return {name: value for name, value in vars(group).items() if name.isupper()}


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: str(group.__name__))
def test_names_are_legal_keys(group: type) -> None:
    whole = {n: v for n, v in names_in(group).items() if not n.endswith("PREFIX")}
    assert whole
    assert {name: tuple(qualified_name(value)) for name, value in whole.items()} == dict.fromkeys(
        whole, ()
    )


@pytest.mark.parametrize(
    "group", [*GROUPS, wellknown.Parameter], ids=lambda group: str(group.__name__)
)
def test_no_name_has_two_meanings(group: type) -> None:
    values = list(names_in(group).values())
    assert len(values) == len(set(values))
