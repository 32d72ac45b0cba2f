"""What is compared of a play: the objects that are there, and what was told, blurred.

Blurred is what no two clusters share: uids (an object's own name stands for them), versions, times,
who wrote which field, the directory that a hostPath volume was made in, and the order of
finalizers, which several controllers add at the same time.
"""

import json
import re
from collections.abc import Collection, Iterable
from typing import Any

from mooring.controllers.binding.effects.recycler_template import SCRUB
from tests.conformance.controllers.differences import EXPLANATIONS, OURS_ALONE, THEIR_SCRUB
from tests.conformance.controllers.materials import BOUND_BY_CONTROLLER, PRE_RESIZE
from tests.conformance.controllers.stage import Stage
from tests.conformance.controllers.story import Doc, Told
from tests.conformance.controllers.table.words import NO_MATCH

Picture = dict[str, Any]

_TIMES = ("creationTimestamp", "deletionTimestamp", "lastPhaseTransitionTime")
_CONDITION_TIMES = ("lastTransitionTime", "lastProbeTime")
_LEFT_OUT = ("resourceVersion", "managedFields", "selfLink", "generation")
_ASKED_FOR = re.compile(r'Cannot bind to requested volume "\$s-([^"]+)": (.*)')
_NOT_WIPED, _USED = ("Warning", "VolumeFailedRecycle"), "Volume is used by pods: "
"""Mooring pauses after a failure, and finds out later than Kubernetes that pods came meanwhile."""
_WAITED_FOR = re.compile(r"(?<=^waiting for pods )\S+(?= to be scheduled)")
_NO_CLASS = {"no storage class is set": NO_MATCH}  # what is left of it without our words
_DIRECTORY = re.compile(r"/tmp/hostpath_pv/[^\"]+")  # noqa: S108 - a text that is looked for


def picture(stage: Stage) -> Picture:
    """Every object, by its label."""
    seen = sorted(stage.present.values(), key=lambda each: each.label)
    return {each.label: _blurred(stage, _shown(each.kind, each.doc)) for each in seen}


def told(stage: Stage, events: Iterable[Doc], pictures: Collection[Picture]) -> frozenset[Told]:
    """However often it was told."""
    everything = [
        Told(
            stage.labels[event["involvedObject"]["uid"]],
            event["type"],
            event["reason"],
            _message(stage.blur(event["message"])),
        )
        for event in events
        if event["reason"] not in OURS_ALONE
    ]
    pausing = {each.about for each in everything if (each.type, each.reason) == _NOT_WIPED}
    return frozenset(
        each
        for each in everything
        if not _is_passing(each, pictures)
        and not (each.message.startswith(_USED) and each.about in pausing)
    )


def _message(text: str) -> str:
    """Kubernetes names pods in any order."""
    text = _DIRECTORY.sub("<directory>", text)
    for pattern in EXPLANATIONS:
        text = re.sub(pattern, "", text)
    text = _NO_CLASS.get(text, text)
    return _WAITED_FOR.sub(lambda found: ",".join(sorted(found[0].split(","))), text)


def _is_passing(event: Told, pictures: Iterable[Picture]) -> bool:
    """Whether it tells of a volume that was free, or going, only while nobody was at rest.

    Who looks in that moment at a claim that asks for the volume says so; who is slower does not.
    """
    found = _ASKED_FOR.match(event.message)
    if found is None:
        return False
    return not any(event.about in shown and _is_seen(found, shown) for shown in pictures)


def _is_seen(found: re.Match[str], shown: Picture) -> bool:
    volumes = (doc for label, doc in shown.items() if label.split(" #")[0] == f"volume {found[1]}")
    is_going = found[2].startswith("the volume is marked for deletion")
    return any(
        "claimRef" not in doc["spec"] and (not is_going or "deletionTimestamp" in doc["metadata"])
        for doc in volumes
    )


def summary(stage: Stage, label: str) -> str:
    """An object in a few words: `Bound +c BBC`, `Pending`, `gone`."""
    doc = stage.find(label)
    if doc is None:
        return "gone"
    words = ["there"]
    if label.startswith("volume"):
        words = _volume_words(doc)
    elif label.startswith("claim"):
        words = _claim_words(doc)
    return stage.blur(" ".join(words + ["deleting"] * ("deletionTimestamp" in doc["metadata"])))


def _volume_words(doc: Doc) -> list[str]:
    words = [doc["status"]["phase"]]
    if (reference := doc["spec"].get("claimRef")) is not None:
        words.append(f"{'+' if reference.get('uid') else '-'}{reference['name']}")
    marks = doc["metadata"].get("annotations", {})
    if BOUND_BY_CONTROLLER in marks:
        words.append("BBC")
    if before := marks.get(PRE_RESIZE):
        words.append(f"{before} to {doc['spec']['capacity']['storage']}")
    message = doc["status"].get("message")
    return [*words, f"({message})"] if message else words


def _claim_words(doc: Doc) -> list[str]:
    status, marks = doc["status"], doc["metadata"].get("annotations", {})
    volume = doc["spec"].get("volumeName", "").partition("-")
    words = [
        status["phase"],
        "made" if volume[0] == "pvc" else volume[2],
        status.get("capacity", {}).get("storage", ""),
        "BBC" if BOUND_BY_CONTROLLER in marks else "",
    ]
    return list(filter(None, words))


def _shown(kind: str, doc: Doc) -> Doc:
    """Pods are compared by what controllers make of them."""
    if kind != "pod":
        return doc
    metadata, spec = doc["metadata"], doc["spec"]
    shown: Doc = {"metadata": {**metadata, "labels": metadata.get("labels")}}
    if metadata["name"].startswith("recycler-for-"):
        (container,) = spec["containers"]
        shown["spec"] = {
            "seconds": spec["activeDeadlineSeconds"],
            "restarts": spec["restartPolicy"],
            "volume": spec["volumes"][0],
            "container": [container[key] for key in ("name", "image", "command")],
            "args": [
                "<scrub>" if arg in (SCRUB, THEIR_SCRUB) else arg for arg in container["args"]
            ],
        }
    return shown


def _blurred(stage: Stage, doc: Doc) -> Any:
    text = _DIRECTORY.sub("<directory>", stage.blur(json.dumps(_without(doc))))
    return json.loads(text)


def _without(value: Any) -> Any:
    match value:
        case dict():
            return {
                key: _field(key, each)
                for key, each in value.items()
                if not _is_left_out(key, value)
            }
        case list():
            return [_without(each) for each in value]
        case _:
            return value


def _field(key: str, value: Any) -> Any:
    if key in _TIMES:
        return "<time>"
    return sorted(value) if key == "finalizers" else _without(value)


def _is_left_out(key: str, within: Doc) -> bool:
    """An object's own uid tells nothing; that of the object it points at does."""
    if key == "uid":
        return "creationTimestamp" in within
    return key in _LEFT_OUT or key in _CONDITION_TIMES
