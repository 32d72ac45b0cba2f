"""The kubelet's summary: the part of it that says how full volumes are."""

import msgspec

from mooring.model.wire import Wire


class ClaimName(Wire, frozen=True):
    name: str
    namespace: str


class PodName(Wire, frozen=True):
    name: str
    namespace: str
    uid: str = ""


class Filled(Wire, frozen=True):
    """A file system or a volume; what the kubelet could not measure is None."""

    used_bytes: int | None = None
    capacity_bytes: int | None = None
    available_bytes: int | None = None
    inodes: int | None = None
    inodes_used: int | None = None


class SummaryVolume(Filled, frozen=True, kw_only=True):
    name: str
    time: str | None = None
    claim: ClaimName | None = msgspec.field(name="pvcRef", default=None)


class SummaryPod(Wire, frozen=True, kw_only=True):
    pod: PodName = msgspec.field(name="podRef")
    volumes: tuple[SummaryVolume, ...] | None = msgspec.field(name="volume", default=None)


class SummaryNode(Wire, frozen=True):
    fs: Filled | None = None


class Summary(Wire, frozen=True):
    node: SummaryNode = SummaryNode()
    pods: tuple[SummaryPod, ...] | None = ()


decode = msgspec.json.Decoder(Summary).decode
