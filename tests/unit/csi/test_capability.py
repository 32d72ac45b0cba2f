"""Access modes of Kubernetes as those of CSI; capabilities to the wire and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.csi.capability import (
    ControllerCapability,
    NodeCapability,
    UnsupportedModes,
    WireMode,
    Writers,
    combined_mode,
    first_mode,
    known_among,
    single_mode,
    writers_of,
)
from mooring.csi.proto import csi_pb2
from mooring.model.storage_terms import AccessMode

ONCE, POD = AccessMode.ONCE, AccessMode.ONCE_POD
ROX, MANY = AccessMode.READ_ONLY_MANY, AccessMode.MANY
PLAIN, APART = Writers.NOT_TOLD_APART, Writers.TOLD_APART

SINGLE = {
    "once": (ONCE, PLAIN, WireMode.SINGLE_NODE_WRITER),
    "once, for a driver that tells writers apart": (
        ONCE,
        APART,
        WireMode.SINGLE_NODE_MULTI_WRITER,
    ),
    "once per pod": (POD, PLAIN, WireMode.SINGLE_NODE_WRITER),
    "once per pod, for a driver that tells writers apart": (
        POD,
        APART,
        WireMode.SINGLE_NODE_SINGLE_WRITER,
    ),
    "many readers": (ROX, PLAIN, WireMode.MULTI_NODE_READER_ONLY),
    "many readers, told apart or not": (ROX, APART, WireMode.MULTI_NODE_READER_ONLY),
    "many writers": (MANY, PLAIN, WireMode.MULTI_NODE_MULTI_WRITER),
    "many writers, told apart or not": (MANY, APART, WireMode.MULTI_NODE_MULTI_WRITER),
    "a mode that we do not know": (AccessMode("New"), APART, WireMode.UNKNOWN),
}


@pytest.mark.parametrize(("mode", "writers", "expected"), SINGLE.values(), ids=SINGLE)
def test_one_mode_alone(mode: AccessMode, writers: Writers, expected: WireMode) -> None:
    assert single_mode(mode, writers) is expected
    assert first_mode((mode, MANY), writers) is expected


def test_a_volume_without_modes_is_used_once() -> None:
    assert first_mode((), PLAIN) is WireMode.SINGLE_NODE_WRITER


COMBINED = {
    "once": ((ONCE,), PLAIN, WireMode.SINGLE_NODE_WRITER),
    "once, writers told apart": ((ONCE,), APART, WireMode.SINGLE_NODE_MULTI_WRITER),
    "once per pod stands alone": ((POD, POD), APART, WireMode.SINGLE_NODE_SINGLE_WRITER),
    "many writers is more than all": ((ONCE, ROX, MANY), PLAIN, WireMode.MULTI_NODE_MULTI_WRITER),
    "many readers": ((ROX,), APART, WireMode.MULTI_NODE_READER_ONLY),
}


@pytest.mark.parametrize(("modes", "writers", "expected"), COMBINED.values(), ids=COMBINED)
def test_modes_together(
    modes: tuple[AccessMode, ...], writers: Writers, expected: WireMode
) -> None:
    assert combined_mode(modes, writers) is expected


IMPOSSIBLE = {
    "once per pod with another": (
        (POD, MANY),
        "Kubernetes does not support use of ReadWriteOncePod with other access modes"
        " on the same PersistentVolume",
    ),
    "many readers with one writer": (
        (ROX, ONCE),
        "CSI does not support ReadOnlyMany and ReadWriteOnce on the same PersistentVolume",
    ),
    "none": ((), "unsupported AccessMode combination: []"),
    "only one that we do not know": (
        (AccessMode("New"),),
        "unsupported AccessMode combination: [New]",
    ),
}


@pytest.mark.parametrize(("modes", "text"), IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_modes_that_cannot_be_together(modes: tuple[AccessMode, ...], text: str) -> None:
    with pytest.raises(UnsupportedModes) as caught:
        combined_mode(modes, PLAIN)
    assert str(caught.value) == text


@given(mode=st.sampled_from([ONCE, POD, ROX, MANY]), writers=st.sampled_from(Writers))
def test_a_mode_alone_is_the_same_for_all_callers(mode: AccessMode, writers: Writers) -> None:
    assert (
        combined_mode((mode,), writers)
        is first_mode((mode,), writers)
        is single_mode(mode, writers)
    )


def test_controller_and_node_speak_for_themselves() -> None:
    assert writers_of(frozenset({ControllerCapability.SINGLE_NODE_MULTI_WRITER})) is APART
    assert writers_of(frozenset({NodeCapability.SINGLE_NODE_MULTI_WRITER})) is APART
    # 5 and 13 mean something else on the other side.
    assert writers_of(frozenset({ControllerCapability.CREATE_DELETE_SNAPSHOT})) is PLAIN
    assert writers_of(frozenset(set(NodeCapability) - {NodeCapability(5)})) is PLAIN


def test_capabilities_of_a_newer_specification_are_passed_over() -> None:
    assert known_among(NodeCapability, [0, 1, 99]) == {NodeCapability.STAGE_UNSTAGE_VOLUME}


def test_numbers_are_those_of_the_specification() -> None:
    wire = csi_pb2.ControllerServiceCapability.RPC.Type
    assert {each.name: each.value for each in ControllerCapability} | {"UNKNOWN": 0} == dict(
        wire.items()
    )
    assert {each.name: each.value for each in NodeCapability} | {"UNKNOWN": 0} == dict(
        csi_pb2.NodeServiceCapability.RPC.Type.items()
    )
    assert {each.name: each.value for each in WireMode} == dict(
        csi_pb2.VolumeCapability.AccessMode.Mode.items()
    )
