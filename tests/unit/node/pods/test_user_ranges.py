"""Which ids on the host a pod's users are."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest

from mooring.host.user_namespace import LENGTH
from mooring.node.pods.user_ranges import FIRST, MOST, USERS_NOTE, UserRanges
from mooring.node.pods.waiting_reason import Misconfigured
from mooring.oci.contract import Containers, Found, Owner, State


class Listed:
    """Containers that are there."""

    def __init__(self, *found: Found) -> None:
        self._found = found

    def list(self) -> Sequence[Found]:
        return self._found


def a_container(pod_uid: str, first: int | None) -> Found:
    return Found(
        id="1",
        owner=Owner("default", pod_uid, pod_uid, "main", 0),
        state=State.RUNNING,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        log_path=Path("/log"),
        image_id="",
        notes={} if first is None else {USERS_NOTE: str(first)},
    )


def ranges(*found: Found) -> UserRanges:
    return UserRanges(cast(Containers, Listed(*found)))


def test_no_two_pods_share_one_and_each_keeps_its_own() -> None:
    of = ranges()
    assert [of.of("a"), of.of("b"), of.of("a")] == [FIRST, FIRST + LENGTH, FIRST]
    assert FIRST >= LENGTH


def test_what_runs_from_before_a_restart_keeps_its_range() -> None:
    of = ranges(a_container("old", FIRST + LENGTH), a_container("plain", None))
    assert of.of("old") == FIRST + LENGTH
    assert of.of("new") == FIRST
    assert of.of("newer") == FIRST + 2 * LENGTH


def test_a_range_is_free_again_when_its_pod_is_forgotten() -> None:
    of = ranges()
    of.of("a")
    of.forget("a")
    of.forget("a")
    assert of.of("b") == FIRST


def test_when_all_are_taken_a_pod_has_to_wait() -> None:
    of = ranges()
    for number in range(MOST):
        of.of(str(number))
    with pytest.raises(Misconfigured, match="all 1024 ranges of user ids are taken"):
        of.of("one more")
    of.forget("7")
    assert of.of("one more") == FIRST + 7 * LENGTH
