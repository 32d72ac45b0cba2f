"""What a check makes of what it sees."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.upkeep.findings import (
    Finding,
    Repair,
    Seen,
    SeenContainer,
    SeenVolume,
    decide,
)

POD = "u1"
OF_POD = SeenContainer("c1", "container main of pod default/one", POD)
WELL = Seen(
    pods=frozenset((POD,)),
    handles={"v1": "pv-1"},
    volumes=(SeenVolume("v1", wanted_bytes=10, image_bytes=10),),
    containers=(OF_POD,),
    pod_mounts={POD: 3},
)


def but(**fields: object) -> Seen:
    return Seen(**{name: getattr(WELL, name) for name in WELL.__struct_fields__} | fields)


CASES: dict[str, tuple[Seen, list[tuple[str, Repair | None, str]]]] = {
    "all is well": (WELL, []),
    "nothing at all": (Seen(), []),
    "a damaged database, and nothing is left over": (
        but(damage="rotten", pods=frozenset(), handles={}),
        [("database", None, "rotten")],
    ),
    "an object that is none": (
        but(unreadable=("pods a/b",)),
        [("database", None, "pods a/b is no object")],
    ),
    "a volume without a record": (
        but(volumes=(SeenVolume("v1", is_readable=False),)),
        [("volume v1", None, "its record cannot be read; its data was left alone")],
    ),
    "a volume without data": (
        but(volumes=(SeenVolume("v1", image_bytes=None),)),
        [("volume v1", None, "its data is missing")],
    ),
    "a volume that was cut": (
        but(volumes=(SeenVolume("v1", wanted_bytes=10, image_bytes=9),)),
        [("volume v1", None, "its image has 9 bytes of 10")],
    ),
    "a volume that nobody uses any more": (
        but(volumes=(SeenVolume("v1", is_stale=True),)),
        [("volume v1", Repair.RECOVER_VOLUME, "its record tells of a use that is not there")],
    ),
    "the same, just being staged": (
        but(volumes=(SeenVolume("v1", is_stale=True),), is_running=True),
        [],
    ),
    "a draft": (
        but(drafts=("making/x",)),
        [("driver", Repair.CLEAR_DRAFT, "making/x is left of something that was cut short")],
    ),
    "a volume without an object": (
        but(handles={}),
        [("volume v1", None, "no PersistentVolume tells of it")],
    ),
    "an object without a volume": (
        but(volumes=()),
        [("pv/pv-1", None, "the bundled driver has no volume v1")],
    ),
    "mounts of a pod that does not exist": (
        but(pod_mounts={POD: 3, "u2": 2}),
        [
            (
                "pod u2",
                Repair.REMOVE_POD,
                "it does not exist, and has 2 mounts and a directory here",
            )
        ],
    ),
    "a container of a pod that does not exist": (
        but(containers=(OF_POD, SeenContainer("c2", "container x", "u2", is_running=True))),
        [("container x", Repair.REMOVE_CONTAINER, "it runs, and its pod does not exist")],
    ),
    "a container that was never made": (
        but(containers=(SeenContainer("c2", "container c2", ""),)),
        [("container c2", Repair.REMOVE_CONTAINER, "its making was cut short")],
    ),
    "the same, just being made": (
        but(containers=(SeenContainer("c2", "container c2", ""),), is_running=True),
        [],
    ),
    "a container that nobody saw end": (
        but(containers=(SeenContainer("c1", "container x", POD, is_settled=False),)),
        [("container x", Repair.SETTLE_CONTAINER, "nobody saw it end")],
    ),
}


@pytest.mark.parametrize(("seen", "wanted"), CASES.values(), ids=CASES)
def test_decide(seen: Seen, wanted: list[tuple[str, Repair | None, str]]) -> None:
    assert [(one.where, one.repair, one.what) for one in decide(seen)] == wanted
    assert all(one.remedy for one in decide(seen))


uids = st.sets(st.sampled_from(["u1", "u2", "u3"]))


@given(uids, uids, st.sampled_from(["", "rotten"]), st.booleans())
def test_nothing_of_a_pod_that_exists_or_may_exist_is_ever_removed(
    pods: set[str],
    there: set[str],
    damage: str,
    is_running: bool,  # noqa: FBT001
) -> None:
    containers = tuple(SeenContainer(f"c-{uid}", uid, uid) for uid in there)
    seen = Seen(
        damage=damage,
        pods=frozenset(pods),
        containers=containers,
        pod_mounts=dict.fromkeys(there, 1),
        is_running=is_running,
    )
    repairs: list[Finding] = [one for one in decide(seen) if one.repair is not None]
    touched = {one.subject.removeprefix("c-") for one in repairs}
    assert touched == (set() if damage else there - pods)
