"""Serving under the name of another CSI driver: its volume ids outside, the driver's own inside.

For volumes of in-tree plugins, which CSI migration takes for volumes of that driver. The place of a
volume is no part of its id here, and no topology is told: the other driver's says nothing about
this machine.
"""

from collections.abc import Mapping
from typing import Final, Protocol

from google.protobuf.message import Message

from mooring import log
from mooring.csi.proto import csi_pb2 as csi
from mooring.driver.identifiers import volume_id_of
from mooring.driver.parameters import KNOWN
from mooring.driver.records import VolumeRecord
from mooring.driver.refusal import CallRefused
from mooring.driver.settings import KUBERNETES_PREFIX, TOPOLOGY_KEY
from mooring.errors import UsageError
from mooring.model.csi_translation.gce_pd import UNSPECIFIED, GcePd

_log = log.get("mooring.driver")

_DISKS: Final = f"projects/{UNSPECIFIED}/zones/{UNSPECIFIED}/disks/"
_PARTS: Final = ("projects", "disks")  # the first, and the last but one, of a disk's id

NAMES: Final = (GcePd.driver,)
"""The drivers that the bundled one can stand in for."""

_IDS: Final = frozenset({"volume_id", "source_volume_id", "source_volume_ids"})
_SERVICES: Final = csi.PluginCapability.Service
_ABOUT_PLACES: Final = frozenset(
    {
        _SERVICES.VOLUME_ACCESSIBILITY_CONSTRAINTS,
        _SERVICES.SNAPSHOT_ACCESSIBILITY_CONSTRAINTS,
    }
)


def check_stand_in(name: str) -> str:
    """Raises: UsageError for a driver whose volume ids are not known."""
    if name and name not in NAMES:
        raise UsageError(f"--stand-in-for {name!r} is not known: {', '.join(NAMES)} is")
    return name


class Volumes(Protocol):
    def find(self, identifier: str) -> VolumeRecord | None: ...


class StandIn:
    def __init__(self, name: str, volumes: Volumes) -> None:
        self._name = name
        self._volumes = volumes

    def inward(self, request: Message) -> Message:
        """The request in the driver's own terms."""
        own = type(request)()
        own.CopyFrom(request)
        _rename(own, inner_id)
        if isinstance(own, csi.CreateVolumeRequest):
            self._drop_parameters(own)
        return own

    def outward(self, answer: Message) -> Message:
        """The answer as the other driver would give it. It is changed in place."""
        _rename(answer, self._outer_id)
        _drop_places(answer)
        if isinstance(answer, csi.GetPluginInfoResponse):
            answer.name = self._name
        if isinstance(answer, csi.GetPluginCapabilitiesResponse):
            kept = [one for one in answer.capabilities if one.service.type not in _ABOUT_PLACES]
            del answer.capabilities[:]
            answer.capabilities.extend(kept)
        return answer

    def _outer_id(self, identifier: str) -> str:
        volume = self._volumes.find(identifier)
        return identifier if volume is None else f"{_DISKS}{volume.name}"

    def _drop_parameters(self, request: csi.CreateVolumeRequest) -> None:
        """Those of the other driver have no meaning here, such as the type of its disks."""
        foreign = _foreign(request.parameters)
        for key in foreign:
            del request.parameters[key]
        if foreign:
            names = ", ".join(sorted(foreign))
            _log.info("parameters of another driver have no effect", of=self._name, names=names)


def inner_id(identifier: str) -> str:
    """The id of the disk that `projects/P/zones/Z/disks/NAME` names; others stay as they are."""
    parts = identifier.split("/")
    if len(parts) != 6 or (parts[0], parts[4]) != _PARTS:
        return identifier
    try:
        return volume_id_of(parts[5])
    except CallRefused:
        return identifier


def _foreign(parameters: Mapping[str, str]) -> list[str]:
    return [key for key in parameters if key not in KNOWN and not key.startswith(KUBERNETES_PREFIX)]


class _Rename(Protocol):
    def __call__(self, identifier: str, /) -> str: ...


def _rename(message: Message, rename: _Rename) -> None:
    """Change the ids of volumes, however deep they are."""
    for field, value in message.ListFields():
        if field.name in _IDS:
            if field.is_repeated:
                value[:] = [rename(one) for one in value]
            else:
                setattr(message, field.name, rename(value))
        elif field.message_type is not None and not field.message_type.GetOptions().map_entry:
            for one in value if field.is_repeated else (value,):
                _rename(one, rename)


def _drop_places(message: Message) -> None:
    for field, value in message.ListFields():
        if field.message_type is csi.Topology.DESCRIPTOR:
            kept = [one for one in _each(value) if TOPOLOGY_KEY not in one.segments]
            message.ClearField(field.name)
            if field.is_repeated:
                getattr(message, field.name).extend(kept)
        elif field.message_type is not None and not field.message_type.GetOptions().map_entry:
            for one in value if field.is_repeated else (value,):
                _drop_places(one)


def _each(value: object) -> list[csi.Topology]:
    return [value] if isinstance(value, csi.Topology) else list(value)  # type: ignore[call-overload]
