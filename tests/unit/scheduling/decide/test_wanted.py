"""Volumes and claims as they will be."""

from mooring.model.reference import ClaimRef
from mooring.model.wellknown import Annotation
from mooring.scheduling.decide.wanted import is_pointing, meant_for, pointed_at
from tests.unit.scheduling.things import a_claim, a_volume, pointing_at

MARK = Annotation.BOUND_BY_CONTROLLER
CLAIM = a_claim()


def test_a_free_volume_is_pointed_at_the_claim_and_marked_as_chosen_here() -> None:
    wanted = pointed_at(a_volume(), CLAIM)
    assert wanted.spec.claim_ref == ClaimRef(
        kind="PersistentVolumeClaim",
        api_version="v1",
        namespace="default",
        name="data",
        uid="uid-data",
        resource_version="1",
    )
    assert wanted.metadata.annotations[MARK] == "yes"
    assert is_pointing(wanted, CLAIM)


def test_a_users_reservation_gets_the_uid_and_stays_the_users() -> None:
    volume = a_volume(claimRef=pointing_at("data"))
    assert not is_pointing(volume, CLAIM)
    wanted = pointed_at(volume, CLAIM)
    assert is_pointing(wanted, CLAIM)
    assert MARK not in wanted.metadata.annotations


def test_what_points_already_is_left_alone() -> None:
    volume = a_volume(claimRef=pointing_at("data", "uid-data"))
    assert pointed_at(volume, CLAIM) is volume


def test_a_claim_is_meant_for_a_node() -> None:
    wanted = meant_for(CLAIM, "n1")
    assert wanted.selected_node == "n1"
    assert meant_for(wanted, "n1") is wanted
    assert meant_for(wanted, "n2").selected_node == "n2"
