"""Pictures for timelines: a pod `web` with the claim `data`, its volume and its attachment."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from mooring.csi.call_record import CsiCall
from mooring.csi.cause import Ref
from mooring.timeline.picture import (
    Attachment,
    Bound,
    Claim,
    Event,
    Picture,
    Pod,
    PodStatus,
    Volume,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
DRIVER, HANDLE, NODE = "d.example.com", "vol-1", "n1"
CLAIM_UID, POD_UID, ATTACHMENT_UID = "u-claim", "u-pod", "u-attachment"


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def text(seconds: float) -> str:
    return at(seconds).isoformat(timespec="seconds").replace("+00:00", "Z")


def owner(seconds: float, *path: str) -> dict[str, Any]:
    """An entry of managedFields."""
    fields: dict[str, Any] = {}
    for step in reversed(path):
        fields = {f"f:{step}": fields}
    return {"manager": "m", "operation": "Update", "time": text(seconds), "fieldsV1": fields}


def a_claim(created: float = 0, bound: float | None = 1) -> Claim:
    owners = [] if bound is None else [owner(bound, "spec", "volumeName")]
    doc = {
        "metadata": {
            "name": "data",
            "namespace": "default",
            "uid": CLAIM_UID,
            "creationTimestamp": text(created),
            "managedFields": owners,
        },
        "spec": {"volumeName": "" if bound is None else "pv-1"},
        "status": {"phase": "Pending" if bound is None else "Bound"},
    }
    return msgspec.convert(doc, Claim)


def a_volume(*, provisioned: bool = True) -> Volume:
    notes = {"pv.kubernetes.io/provisioned-by": DRIVER} if provisioned else {}
    doc = {
        "metadata": {"name": "pv-1", "creationTimestamp": text(1), "annotations": notes},
        "spec": {"csi": {"driver": DRIVER, "volumeHandle": HANDLE}},
    }
    return msgspec.convert(doc, Volume)


def an_attachment(created: float = 2, attached: float | None = 3) -> Attachment:
    owners = [] if attached is None else [owner(attached, "status", "attached")]
    doc = {
        "metadata": {
            "name": "csi-1",
            "uid": ATTACHMENT_UID,
            "creationTimestamp": text(created),
            "managedFields": owners,
        },
        "spec": {
            "attacher": DRIVER,
            "nodeName": NODE,
            "source": {"persistentVolumeName": "pv-1"},
        },
        "status": {"attached": attached is not None},
    }
    return msgspec.convert(doc, Attachment)


def a_pod(
    created: float = 0,
    scheduled: float | None = 2,
    started: float | None = 5,
    ready: float | None = 5,
) -> Pod:
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": text(when)}
        for kind, when in (("PodScheduled", scheduled), ("Ready", ready))
        if when is not None
    ]
    state = {} if started is None else {"running": {"startedAt": text(started)}}
    doc = {
        "metadata": {"name": "web", "uid": POD_UID, "creationTimestamp": text(created)},
        "spec": {
            "nodeName": NODE if scheduled is not None else "",
            "volumes": [
                {"name": "d", "persistentVolumeClaim": {"claimName": "data"}},
                {"name": "scratch", "ephemeral": {}},
                {"name": "e", "emptyDir": {}},
            ],
        },
        "status": {
            "conditions": conditions,
            "containerStatuses": [{"name": "main", "state": state}],
        },
    }
    return msgspec.convert(doc, Pod)


def an_ended_pod(phase: str = "Succeeded", reason: str = "", finished: float = 30) -> Pod:
    """Its container has run, from second 5 on."""
    pod = a_pod(ready=None)
    state = {"terminated": {"startedAt": text(5), "finishedAt": text(finished)}}
    status = {
        "phase": phase,
        "reason": reason,
        "conditions": msgspec.to_builtins(pod.status.conditions),
        "containerStatuses": [{"name": "main", "state": state}],
    }
    return msgspec.structs.replace(pod, status=msgspec.convert(status, PodStatus))


def an_event(reason: str, seconds: float, uid: str = POD_UID, message: str = "") -> Event:
    """As Kubernetes' recorders write them: the nanosecond of its birth is in its name."""
    nanoseconds = round(at(seconds).timestamp() * 1e6) * 1000
    doc = {
        "metadata": {"name": f"web.{nanoseconds:x}"},
        "involvedObject": {"uid": uid},
        "reason": reason,
        "message": message,
        "firstTimestamp": text(seconds),
    }
    return msgspec.convert(doc, Event)


def a_call(
    method: str,
    began: float,
    ended: float | None,
    uid: str = POD_UID,
    code: str = "OK",
    volume: str = HANDLE,
) -> CsiCall:
    """Without an end: in flight."""
    return CsiCall(
        id=int(began * 1000),
        service="csi.v1.Node",
        method=method,
        started=at(began),
        seconds=0.0 if ended is None else ended - began,
        driver=DRIVER,
        volume=volume,
        code="" if ended is None else code,
        in_flight=ended is None,
        because=Ref("Pod", "web", "default", uid),
    )


ALL_CALLS = (
    a_call("CreateVolume", 0.2, 0.4, CLAIM_UID, volume="pvc-1"),
    a_call("ControllerPublishVolume", 2.5, 2.7, ATTACHMENT_UID),
    a_call("NodeStageVolume", 3.0, 3.5),
    a_call("NodePublishVolume", 3.6, 3.7),
)


def a_picture(**fields: Any) -> Picture:
    """All is done; with other fields, not."""
    usual: dict[str, Any] = {
        "now": at(60),
        "claims": (Bound(a_claim(), a_volume(), an_attachment()),),
        "pod": a_pod(),
        "events": (an_event("Scheduled", 2.25), an_event("Started", 5.125)),
        "calls": ALL_CALLS,
    }
    return Picture(**usual | fields)
