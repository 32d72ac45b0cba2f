from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.driver.identifiers import (
    MAX_NAME_BYTES,
    is_snapshot_id,
    is_volume_id,
    snapshot_id_of,
    volume_id_of,
)
from mooring.driver.refusal import INVALID, CallRefused
from tests.unit.driver.calls import refused


@given(st.text(min_size=1, max_size=MAX_NAME_BYTES))
def test_a_name_is_refused_or_has_an_id_that_is_one_plain_path_element(name: str) -> None:
    with suppress(CallRefused):
        identifier = volume_id_of(name)
        assert is_volume_id(identifier)
        assert identifier.isascii()
        assert not {"/", "."} & set(identifier)
        assert volume_id_of(name) == identifier


UNUSABLE = {
    "no name": "",
    "a name that is too long": "x" * (MAX_NAME_BYTES + 1),
    "a name that is too long in bytes": "ä" * (MAX_NAME_BYTES // 2 + 1),
    "a name with a control character": "a\x00b",
    "a name with a C1 control character": "a\x85b",
}


@pytest.mark.parametrize("name", UNUSABLE.values(), ids=UNUSABLE)
def test_names_that_are_refused(name: str) -> None:
    with refused(INVALID, "name"):
        snapshot_id_of(name)


NO_IDS = {
    "a path that leads out": "../volumes/vol-0",
    "a path that leads out, after an id": f"{volume_id_of('a')}/../../x",
    "a snapshot": snapshot_id_of("a"),
    "an id with a line end": f"{volume_id_of('a')}\n",
    "an id in capitals": volume_id_of("a").upper(),
    "nothing": "",
}


@pytest.mark.parametrize("text", NO_IDS.values(), ids=NO_IDS)
def test_what_is_no_volume_id(text: str) -> None:
    assert not is_volume_id(text)


def test_volumes_and_snapshots_of_one_name_differ() -> None:
    assert volume_id_of("a") != snapshot_id_of("a")
    assert is_snapshot_id(snapshot_id_of("a"))
