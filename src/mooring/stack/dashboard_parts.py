"""What the dashboard shows beside objects: why, timeline and the CSI calls about an object."""

from typing import Any

from mooring.client.http import HttpClient
from mooring.clock import Clock
from mooring.csi.call_record import CsiCall
from mooring.dashboard.app import Parts
from mooring.dashboard.kinds import ShownPod
from mooring.dashboard.looks import Subject
from mooring.dashboard.why import Why
from mooring.errors import BadRequest, NotFound
from mooring.model.attachment import Attachment
from mooring.model.claim import Claim
from mooring.model.csi_driver import CsiDriver
from mooring.model.keys import Key
from mooring.model.volume import Volume
from mooring.stack.csi_trace import Wanted, read_calls
from mooring.stack.timeline import Subject as TimelineSubject
from mooring.stack.timeline import read_picture
from mooring.timeline.decide import decide_timeline
from mooring.timeline.show import document

MOST_CALLS = 200


def parts(clock: Clock) -> Parts:
    return Parts(why=Why(clock), timeline=TimelineOf(clock), trace=Trace())


class TimelineOf:
    """`Explain`: of claims and pods."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def __call__(self, client: HttpClient, subject: Subject) -> dict[str, Any]:
        kind = {Claim: "pvc", ShownPod: "pod"}.get(subject.kind)
        if kind is None:
            raise BadRequest("claims and pods have a timeline; choose one of them")
        asked = TimelineSubject(kind, subject.key.name, subject.key.namespace)
        return document(decide_timeline(await read_picture(client, asked, self._clock)))


class Trace:
    """`Explain`: the CSI calls that Mooring's processes remember about the volumes of an object."""

    async def __call__(self, client: HttpClient, subject: Subject) -> dict[str, Any]:
        about = await _volumes_of(client, subject)
        traced = await read_calls(client, Wanted())
        calls = [call for _, call in traced.calls() if _is_about(call, subject, about)]
        return {"calls": calls[::-1][:MOST_CALLS], "unseen": traced.unseen}


def _is_about(call: CsiCall, subject: Subject, volumes: set[str]) -> bool:
    if call.volume and call.volume in volumes:
        return True
    if subject.kind is CsiDriver:
        return call.driver == subject.key.name
    because, key = call.because, subject.key
    return because is not None and (because.kind, because.namespace, because.name) == (
        subject.kind.resource.kind,
        key.namespace,
        key.name,
    )


async def _volumes_of(client: HttpClient, subject: Subject) -> set[str]:
    """The names and handles by which drivers are asked about its volumes."""
    names: list[str] = []
    if subject.kind is Volume:
        names = [subject.key.name]
    elif subject.kind is Claim:
        names = [(await client.get(Claim, subject.key)).spec.volume_name]
    elif subject.kind is Attachment:
        names = [(await client.get(Attachment, subject.key)).volume_name]
    elif subject.kind is ShownPod:
        pod = await client.get(ShownPod, subject.key)
        for name in pod.claim_names():
            names.append(await _volume_name(client, Key(pod.namespace, name)))
    found: set[str] = set()
    for name in filter(None, names):
        found.add(name)
        try:
            volume = await client.get(Volume, Key("", name))
        except NotFound:
            continue
        if volume.spec.csi is not None:
            found.add(volume.spec.csi.volume_handle)
    return found


async def _volume_name(client: HttpClient, claim: Key) -> str:
    try:
        return (await client.get(Claim, claim)).spec.volume_name
    except NotFound:
        return ""
