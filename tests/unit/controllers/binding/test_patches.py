"""Patches turn what was seen into what is wanted, and leave alone what nobody knows."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mooring.controllers.binding.decide.bind import (
    pointed_at,
    unpointed,
    with_phase,
    without_volume,
)
from mooring.controllers.binding.patches import claim_patches, volume_patches
from mooring.model.claim import Claim, ClaimPhase
from mooring.model.volume import Volume, VolumePhase
from mooring.model.wire import read_document
from tests.unit.controllers.binding.things import BBC, DONE, a_claim, a_volume, ref

Doc = dict[str, Any]
UNKNOWN = {"example.com/theirs": "kept"}

volumes = st.builds(
    lambda reference, marks, phase, message, finalizers: a_volume(
        claim_ref=reference,
        annotations=marks,
        phase=phase,
        message=message,
        finalizers=finalizers,
    ),
    st.sampled_from((None, ref("c"), ref("c", "u"), ref("d", "v"))),
    st.sampled_from(({}, BBC, UNKNOWN, BBC | UNKNOWN)),
    st.sampled_from(VolumePhase),
    st.sampled_from(("", "on fire")),
    st.sampled_from(((), ("a",), ("a", "b"))),
)
claims = st.builds(
    lambda volume, marks, phase, has, storage_class: a_claim(
        volume=volume, annotations=marks, phase=phase, has=has, storage_class_name=storage_class
    ),
    st.sampled_from(("v", "w")),
    st.sampled_from(({}, BBC, DONE, UNKNOWN)),
    st.sampled_from(ClaimPhase),
    st.sampled_from(("", "1Gi", "2Gi")),
    st.sampled_from(("gold", "silver")),
)


def merged(document: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    result = dict(document) if isinstance(document, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


def applied(seen: Volume | Claim, main: Doc, status: Doc) -> Doc:
    document = msgspec.to_builtins(seen)
    return dict(merged(merged(document, main), {"status": status}))


@given(volumes, volumes)
def test_a_volume_becomes_what_is_wanted(seen: Volume, wanted: Volume) -> None:
    assert read_document(applied(seen, *volume_patches(seen, wanted)), Volume) == wanted


@given(claims, claims)
def test_a_claim_becomes_what_is_wanted(seen: Claim, wanted: Claim) -> None:
    assert read_document(applied(seen, *claim_patches(seen, wanted)), Claim) == wanted


@given(volumes)
def test_without_a_difference_there_is_no_patch(volume: Volume) -> None:
    assert volume_patches(volume, volume) == ({}, {})


def test_binding_names_only_what_it_changes() -> None:
    seen = a_volume(annotations=UNKNOWN)
    main, status = volume_patches(seen, with_phase(pointed_at(seen, a_claim()), VolumePhase.BOUND))
    assert main == {
        "metadata": {"annotations": BBC},
        "spec": {
            "claimRef": {
                "kind": "PersistentVolumeClaim",
                "apiVersion": "v1",
                "namespace": "ns",
                "name": "c",
                "uid": "u",
                "resourceVersion": "1",
            }
        },
    }
    assert status == {"phase": "Bound"}


def test_unbinding_what_we_chose_takes_everything_back() -> None:
    seen = a_volume(claim_ref=ref("c", "u"), annotations=BBC)
    main, _ = volume_patches(seen, unpointed(seen))
    assert main == {"metadata": {"annotations": None}, "spec": {"claimRef": None}}


def test_unbinding_what_a_user_reserved_takes_back_only_the_uid() -> None:
    seen = a_volume(claim_ref=ref("c", "u"))
    main, _ = volume_patches(seen, unpointed(seen))
    assert main == {"spec": {"claimRef": {"uid": None}}}


def test_a_claim_that_lost_its_volume_has_nothing() -> None:
    seen = a_claim(phase=ClaimPhase.BOUND, has="1Gi")
    seen = replace(seen, status=replace(seen.status, current_volume_attributes_class_name="gold"))
    main, status = claim_patches(seen, without_volume(seen, ClaimPhase.LOST))
    assert main == {}
    assert status == {
        "phase": "Lost",
        "accessModes": None,
        "capacity": None,
        "currentVolumeAttributesClassName": None,
    }
