"""Stories made up from a number: the same number, the same story.

Drawn is what users, administrators, provisioners, schedulers and nodes may do, sense or nonsense;
requests that are refused are part of it. Not drawn is what Kubernetes itself leaves to rng, and
what `differences.py` says Mooring does otherwise:

- volumes of one story differ in size: among equals Kubernetes takes any;
- a volume that names a claim has one access mode: with more, Kubernetes prefers a free one;
- of a volume that is being deleted neither claimRef nor phase are changed by hand: whether it goes
  or is bound again is a race;
- the claimRef of a volume that would be reclaimed is not turned to another claim: Mooring keeps it
  as long as a claim is bound to it;
- a flex volume is not told that its file system is smaller: Kubernetes would make it smaller too;
- the phase of a volume that cannot be reclaimed is not changed by hand: whether it is Released or
  Failed after that depends on how long the pause after the last failure is;
- of one story one volume is wiped by pods, and of all that are played at a time one.

Claims without a class carry a selector for the volumes of their story, unless the story is played
alone, and only then there are default classes.
"""

from collections.abc import Callable
from random import Random
from typing import Any

import msgspec

from tests.conformance.controllers.materials import (
    BETA_CLASS,
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    CLAIMS,
    CLASSES,
    GONE_NODE,
    IS_DEFAULT,
    MODES,
    NO_OBJECT,
    NODE,
    PODS,
    PRE_RESIZE,
    PROVISIONED_BY,
    REQUESTS,
    SELECTED_NODE,
    SIZES,
    an_affinity,
)
from tests.conformance.controllers.story import (
    Act,
    Company,
    Doc,
    Step,
    Story,
    Together,
    change,
    change_status,
    create,
    delete,
)
from tests.fakes.objects import a_claim, a_class, a_node, a_pod, a_volume, an_attributes_class

STEPS = 8
EVERY = 15
_COMPANIES = {0: Company.NOBODY, 7: Company.NO_RECYCLING}
"""Which of so many stories are played with less company."""


def draw(seed: int) -> Story:
    company = _COMPANIES.get(seed % EVERY, Company.ANY)
    drawing = _Drawing(Random(seed), company)  # noqa: S311  not for secrets
    return Story(tuple(drawing.steps()), company)


class _Drawing:
    def __init__(self, rng: Random, company: Company) -> None:
        self._rng = rng
        self._company = company
        self._sizes = rng.sample(SIZES, len(SIZES))
        self._volumes: list[str] = []  # those that may be there
        self._known: list[str] = []  # those that were ever made
        self._single: set[str] = set()  # volumes with one access mode
        self._retained: set[str] = set()  # volumes that nobody deletes or wipes
        self._flex: set[str] = set()  # volumes that the controllers grow themselves
        self._going: set[str] = set()  # volumes that were deleted, but may be held
        self._wiped: set[str] = set()  # volumes that pods may wipe
        self._claims: list[str] = []
        self._pods: list[str] = []
        self._classes = rng.sample(list(CLASSES), 2)
        self._usual = rng.choice([*self._classes, *self._classes, NO_OBJECT, "", ""])
        self._present: list[str] = []  # classes that were made

    def steps(self) -> list[Step]:
        first: list[Act] = [create("node", a_node(NODE))]
        first += [create("attributes class", an_attributes_class("fast"))]
        first += [self._new_class(name) for name in self._classes if self._likely(0.8)]
        first += [self._new_volume() for _ in range(self._rng.randint(1, 3))]
        steps: list[Step] = [Together(first), self._new_claim()]
        deeds, weights = zip(*self._deeds().items(), strict=True)
        while len(steps) < STEPS:
            made = self._rng.choices(deeds, weights)[0]()
            if made is not None:
                steps.append(made)
        return steps

    def _deeds(self) -> dict[Callable[[], Step | None], int]:
        return {
            self._new_claim: 5,
            self._new_volume_if_any: 3,
            self._make_volume_anew: 1,
            self._delete_claim: 4,
            self._delete_volume: 2,
            self._tear_away: 2,
            self._edit_volume: 5,
            self._edit_claim: 3,
            self._grow: 2,
            self._toggle_class: 2,
            self._toggle_pod: 3,
            self._end_recycling: 6 if self._company is Company.NO_RECYCLING else 0,
            self._provision_outside: 2,
        }

    # what is drawn

    def _likely(self, share: float) -> bool:
        return self._rng.random() < share

    def _one(self, options: Any) -> Any:
        return self._rng.choice(list(options))

    # volumes

    def _new_volume_if_any(self) -> Act | None:
        return self._new_volume() if self._sizes else None

    def _new_volume(self) -> Act:
        return self._volume(f"v{len(SIZES) - len(self._sizes) + 1}")

    def _make_volume_anew(self) -> Act | None:
        """One that was there before, or still is: then it is refused."""
        return self._volume(self._one(self._known)) if self._sizes else None

    def _volume(self, name: str) -> Act:
        self._volumes.append(name)
        self._known.append(name)
        reference = self._reference() if self._likely(0.25) else None
        modes = self._one(MODES[:2] if reference else MODES)
        if len(modes) == 1:
            self._single.add(name)
        source = self._source(name)
        spec: Doc = {
            "accessModes": modes,
            "persistentVolumeReclaimPolicy": self._policy(name, source),
            **source,
        }
        if spec["persistentVolumeReclaimPolicy"] == "Retain":
            self._retained.add(name)
        if reference:
            spec["claimRef"] = reference
        if class_name := self._class_name():
            spec["storageClassName"] = class_name
        if self._likely(0.1):
            spec["volumeMode"] = "Block"
        if "csi" not in spec and self._likely(0.15):
            spec["nodeAffinity"] = an_affinity()
        doc = a_volume(name, self._sizes.pop(), **spec)
        doc["metadata"]["labels"] = {"story": "$s", "tier": self._one("ab")}
        if "flexVolume" in source:
            self._flex.add(name)
        if self._likely(0.25):
            doc["metadata"]["annotations"] = self._mark(name)
        return create("volume", doc)

    def _source(self, name: str) -> Doc:
        draws: list[Doc] = [
            {},
            {"csi": None, "hostPath": {"path": f"/tmp/mooring-conformance/$s-{name}"}},  # noqa: S108
            {"csi": None, "hostPath": {"path": f"/srv/$s-{name}"}},
            {"csi": None, "nfs": {"server": "nowhere.example.com", "path": "/x"}},
            {"csi": None, "local": {"path": "/mnt/x"}, "nodeAffinity": an_affinity()},
            {"csi": None, "gcePersistentDisk": {"pdName": "x"}},
            {"csi": None, "flexVolume": {"driver": "example.com/flex"}},
            {"volumeAttributesClassName": "$s-fast"},
        ]
        return dict(self._one(draws))

    def _policy(self, name: str, source: Doc) -> str:
        """Of volumes that a pod can wipe, one is wiped."""
        if not source.keys() & {"hostPath", "nfs"}:
            return str(self._one(["Retain", "Delete", "Delete", "Recycle"]))
        if self._company is not Company.NO_RECYCLING or self._wiped - {name}:
            return str(self._one(["Retain", "Delete", "Delete"]))
        self._wiped.add(name)
        return "Recycle"

    def _mark(self, name: str) -> dict[str, str]:
        marks = [
            {PROVISIONED_BY: "d.example.com"},
            {PROVISIONED_BY: "kubernetes.io/host-path"},
            {PROVISIONED_BY: "kubernetes.io/gce-pd"},
            {BETA_CLASS: "$s-gold"},
            {BOUND_BY_CONTROLLER: "yes"},
        ]
        if name not in self._flex:
            marks.append({PRE_RESIZE: "1Gi"})
        return dict(self._one(marks))

    def _reference(self) -> Doc:
        claim = self._one(CLAIMS)
        reference = {"namespace": "$s", "name": claim}
        uid = self._one(["", "", f"$uid[{claim}]", "someone-elses"])
        return reference | ({"uid": uid} if uid else {})

    def _delete_volume(self) -> Act | None:
        if not self._volumes:
            return None
        name = self._one(self._volumes)
        self._going.add(name)
        return delete("volume", name)

    def _tear_away(self) -> Together | None:
        """Delete a volume, whatever holds it."""
        if not self._volumes:
            return None
        name = self._one(self._volumes)
        self._volumes = [other for other in self._volumes if other != name]
        free = change("volume", name, {"metadata": {"finalizers": None}})
        return Together((delete("volume", name), msgspec.structs.replace(free, comes_late=True)))

    def _edit_volume(self) -> Act | None:
        if not self._volumes:
            return None
        name = self._one(self._volumes)
        edits: list[Doc] = [
            {"spec": {"storageClassName": self._class_name()}},
            {"spec": {"capacity": {"storage": "100Gi"}}},
            {"metadata": {"labels": {"tier": self._one("ab")}}},
            {"metadata": {"annotations": {BOUND_BY_CONTROLLER: self._one([None, "yes"])}}},
            {"metadata": {"annotations": self._mark(name)}},
            {"metadata": {"finalizers": ["example.com/mine"]}},
        ]
        if name not in self._retained:
            edits.append({"spec": {"persistentVolumeReclaimPolicy": "Retain"}})
        if name not in self._going:
            edits += [{"spec": {"claimRef": None}}] * 2
            edits.append({"spec": {"claimRef": {"uid": None}}})
        if name in self._single & self._retained - self._going:
            edits.append({"spec": {"claimRef": self._reference()}})
        if name in self._retained - self._going and self._likely(0.4):
            phase = self._one(["Pending", "Available", "Bound", "Released", "Failed"])
            return change_status("volume", name, {"phase": phase})
        return change("volume", name, self._one(edits))

    def _end_recycling(self) -> Act | None:
        """What a node would do with the pod that wipes the volume, if there is one."""
        if not self._wiped:
            return None
        name = self._one(sorted(self._wiped))
        status: Doc = {"phase": "Succeeded"}
        if self._likely(0.4):
            status = {"phase": "Failed", "message": "disk on fire"}
        words = f"recycler of volume {name} ends"
        path = f"/api/v1/namespaces/default/pods/recycler-for-$s-{name}/status"
        return Act(words, "PATCH", path, {"status": status})

    def _provision_outside(self) -> Act | None:
        """What an external provisioner would make."""
        if not self._claims:
            return None
        claim = self._one(self._claims)
        name = f"out-{claim}"
        spec = {
            "claimRef": {
                "kind": "PersistentVolumeClaim",
                "apiVersion": "v1",
                "namespace": "$s",
                "name": claim,
                "uid": f"$uid[{claim}]",
            },
            "storageClassName": "$s-gold",
            "persistentVolumeReclaimPolicy": "Delete",
        }
        doc = a_volume(name, "11Gi", **spec)
        doc["metadata"]["annotations"] = {PROVISIONED_BY: "d.example.com"}
        doc["metadata"]["finalizers"] = ["external-provisioner.volume.kubernetes.io/finalizer"]
        self._volumes.append(name)
        return create("volume", doc)

    # claims

    def _new_claim(self) -> Act:
        free = [name for name in CLAIMS if name not in self._claims]
        name = self._one(free if free and self._likely(0.9) else CLAIMS)
        self._claims.append(name)
        spec: Doc = {"accessModes": self._one(MODES[:3])}
        class_name = self._class_name()
        if class_name or self._likely(0.4):
            spec["storageClassName"] = class_name
        if not class_name and self._company is not Company.NOBODY:
            spec["selector"] = {"matchLabels": {"story": "$s"}}
        elif self._likely(0.15):
            spec["selector"] = {"matchLabels": {"story": "$s", "tier": self._one("ab")}}
        if self._volumes and self._likely(0.15):
            spec["volumeName"] = f"$s-{self._one(self._volumes)}"
        if self._likely(0.1):
            spec["volumeMode"] = "Block"
        if self._likely(0.1):
            spec["volumeAttributesClassName"] = "$s-fast"
        if self._likely(0.05):
            spec["dataSource"] = {"kind": "PersistentVolumeClaim", "name": "c3"}
        doc = a_claim(name, self._one(REQUESTS), **spec)
        if self._likely(0.15):
            node = self._one([NODE, NODE, GONE_NODE])
            doc["metadata"]["annotations"] = {SELECTED_NODE: f"$s-{node}"}
        return create("claim", doc)

    def _delete_claim(self) -> Act | None:
        if not self._claims:
            return None
        name = self._one(self._claims)
        self._claims = [other for other in self._claims if other != name]
        return delete("claim", name)

    def _grow(self) -> Act | None:
        if not self._claims:
            return None
        request = {"requests": {"storage": self._one(["12Gi", "30Gi"])}}
        return change("claim", self._one(self._claims), {"spec": {"resources": request}})

    def _edit_claim(self) -> Act | None:
        if not self._claims:
            return None
        name = self._one(self._claims)
        edits: list[Doc] = [
            {"metadata": {"annotations": {BIND_COMPLETED: None}}},
            {"metadata": {"annotations": {BOUND_BY_CONTROLLER: None}}},
            {"metadata": {"annotations": {SELECTED_NODE: f"$s-{NODE}"}}},
            {"metadata": {"finalizers": None}},
            {"metadata": {"annotations": {"note": "mine"}}},
            {"spec": {"storageClassName": self._class_name()}},
            {"spec": {"volumeAttributesClassName": "$s-fast"}},
        ]
        if self._volumes:
            edits.append({"spec": {"volumeName": f"$s-{self._one(self._volumes)}"}})
        if self._likely(0.25):
            return change_status("claim", name, {"phase": self._one(["Pending", "Bound", "Lost"])})
        return change("claim", name, self._one(edits))

    # classes

    def _class_name(self) -> str:
        """Mostly the one that is usual here; else one that may be there, never is, or is none."""
        rare = self._one([*self._classes, NO_OBJECT, ""])
        name = self._usual if self._likely(0.8) else rare
        return f"$s-{name}" if name else ""

    def _new_class(self, name: str) -> Act:
        self._present.append(name)
        doc = a_class(name) | CLASSES[name]
        if self._company is Company.NOBODY and self._likely(0.6):
            doc["metadata"]["annotations"] = {IS_DEFAULT: "true"}
        return create("class", doc)

    def _toggle_class(self) -> Act:
        name = self._one(self._classes)
        if name not in self._present:
            return self._new_class(name)
        self._present.remove(name)
        return delete("class", name)

    # pods

    def _toggle_pod(self) -> Act:
        name = self._one(PODS)
        if name not in self._pods:
            self._pods.append(name)
            return create("pod", self._pod(name))
        if self._likely(0.3):
            return change_status("pod", name, {"phase": self._one(["Succeeded", "Running"])})
        self._pods.remove(name)
        return delete("pod", name)

    def _pod(self, name: str) -> Doc:
        pod = a_pod(name, node=self._one(["", "", f"$s-{NODE}"]), claim=self._one(CLAIMS))
        if self._likely(0.3):
            spec: Doc = {"storageClassName": self._one(["$s-gold", f"$s-{NO_OBJECT}"])}
            template = {"spec": a_claim("x", "1Gi", **spec)["spec"]}
            pod["spec"]["volumes"] = [
                {"name": "own", "ephemeral": {"volumeClaimTemplate": template}}
            ]
        return pod
