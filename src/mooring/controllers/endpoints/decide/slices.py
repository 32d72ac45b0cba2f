"""How the pods of a service are spread over slices.

Pods with the same ports and family of addresses share slices. A pod stays in its slice; new ones go
where there is room, first into slices that are written anyway.
"""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from mooring.controllers.endpoints.decide.pods import address_type, endpoint, is_endpoint, ports
from mooring.controllers.endpoints.plan import (
    CreateSlice,
    DeleteSlice,
    Labels,
    Step,
    UpdateSlice,
)
from mooring.model.endpoint_slice import Endpoint, EndpointSlice, SlicePort
from mooring.model.pod import Pod
from mooring.model.service import Service

MOST_IN_SLICE = 100
_EMPTY_TYPE = "IPv4"  # of the slice of a service without pods


class _Shape(msgspec.Struct, frozen=True):
    """What the endpoints of a slice have in common."""

    address_type: str
    ports: tuple[SlicePort, ...]


class _Draft(msgspec.Struct):
    """A slice as it is to be; None: a new one."""

    seen: EndpointSlice | None
    shape: _Shape
    endpoints: list[Endpoint]

    @property
    def room(self) -> int:
        return MOST_IN_SLICE - len(self.endpoints)

    @property
    def is_changed(self) -> bool:
        return self.seen is None or tuple(self.endpoints) != (self.seen.endpoints or ())


def decide_slices(
    service: Service, pods: Iterable[Pod], slices: Iterable[EndpointSlice], labels: Labels
) -> Iterator[Step]:
    wanted = _wanted(service, pods)
    drafts: list[_Draft] = []
    spare: list[EndpointSlice] = []
    for seen in sorted(slices, key=lambda each: each.name):
        shape = _Shape(seen.address_type, seen.ports or ())
        kept = [] if seen.is_deleting else _kept(seen, wanted.get(shape, {}))
        if kept:
            drafts.append(_Draft(seen, shape, kept))
        elif not seen.is_deleting:
            spare.append(seen)
    for shape, missing in wanted.items():
        drafts += _placed(shape, list(missing.values()), drafts, spare)
    if not drafts:
        drafts.append(_empty(spare))
    yield from _written(service, drafts, labels)
    yield from map(DeleteSlice, spare)


def _wanted(service: Service, pods: Iterable[Pod]) -> Mapping[_Shape, dict[str, Endpoint]]:
    """By the uid of the pod."""
    found: dict[_Shape, dict[str, Endpoint]] = {}
    for pod in sorted(filter(is_endpoint, pods), key=lambda each: each.name):
        shape = _Shape(address_type(pod), ports(pod, service))
        found.setdefault(shape, {})[pod.uid] = endpoint(pod, service)
    return found


def _kept(seen: EndpointSlice, wanted: dict[str, Endpoint]) -> list[Endpoint]:
    """Those that stay where they are, as they are now; taken out of `wanted`."""
    refs = (each.target_ref for each in seen.endpoints or ())
    uids = [ref.uid for ref in refs if ref is not None]
    found = [wanted.pop(uid) for uid in dict.fromkeys(uids) if uid in wanted]
    for surplus in found[MOST_IN_SLICE:]:
        if surplus.target_ref is not None:
            wanted[surplus.target_ref.uid] = surplus
    return found[:MOST_IN_SLICE]


def _placed(
    shape: _Shape,
    missing: list[Endpoint],
    drafts: Iterable[_Draft],
    spare: list[EndpointSlice],
) -> list[_Draft]:
    """Fill up what there is; the slices for the rest, made out of spare ones if there are any."""
    fitting = [draft for draft in drafts if draft.shape == shape]
    for draft in sorted(fitting, key=lambda each: not each.is_changed):
        room = draft.room
        draft.endpoints += missing[:room]
        missing = missing[room:]
    starts = range(0, len(missing), MOST_IN_SLICE)
    return [
        _Draft(_taken(spare, shape.address_type), shape, missing[start : start + MOST_IN_SLICE])
        for start in starts
    ]


def _taken(spare: list[EndpointSlice], address_type: str) -> EndpointSlice | None:
    """The type of its addresses is all that a slice never changes."""
    for seen in spare:
        if seen.address_type == address_type:
            spare.remove(seen)
            return seen
    return None


def _empty(spare: list[EndpointSlice]) -> _Draft:
    """It says that the service is looked after, though nobody is behind it."""
    if spare:
        seen = spare.pop(0)
        return _Draft(seen, _Shape(seen.address_type, ()), [])
    return _Draft(None, _Shape(_EMPTY_TYPE, ()), [])


def _written(service: Service, drafts: Iterable[_Draft], labels: Labels) -> Iterator[Step]:
    for draft in drafts:
        shape, endpoints = draft.shape, tuple(draft.endpoints)
        if draft.seen is None:
            yield CreateSlice(service, shape.address_type, shape.ports, endpoints, labels)
        elif (
            draft.is_changed
            or draft.seen.metadata.labels != labels
            or (draft.seen.ports or ()) != shape.ports
        ):
            yield UpdateSlice(draft.seen, shape.ports, endpoints, labels)
