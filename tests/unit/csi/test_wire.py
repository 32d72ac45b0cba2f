"""Values on the wire and back."""

from hypothesis import given
from hypothesis import strategies as st

from mooring.csi.capability import Block, Mount, VolumeCapability, WireMode
from mooring.csi.proto import csi_pb2
from mooring.csi.wire import capability_from_wire, capability_to_wire

capabilities = st.builds(
    VolumeCapability,
    st.one_of(
        st.just(Block()),
        st.builds(Mount, st.text(), st.lists(st.text()).map(tuple), st.text()),
    ),
    st.sampled_from(WireMode),
)


@given(capability=capabilities)
def test_a_capability_comes_back_from_the_wire(capability: VolumeCapability) -> None:
    assert capability_from_wire(capability_to_wire(capability)) == capability


def test_a_capability_that_cannot_be_read_is_none() -> None:
    assert capability_from_wire(csi_pb2.VolumeCapability()) is None
    newer = csi_pb2.VolumeCapability.FromString(b"\x0a\x00\x1a\x02\x08\x63")  # block, mode 99
    assert capability_from_wire(newer) is None
