"""Protection of what is in use, claims made for pods, and claims that ask for more."""

from collections.abc import Mapping
from typing import Any

from tests.conformance.controllers.differences import Kept
from tests.conformance.controllers.materials import PRE_RESIZE
from tests.conformance.controllers.story import (
    Act,
    Step,
    Story,
    Told,
    change,
    change_status,
    create,
    delete,
    then,
)
from tests.conformance.controllers.table.words import (
    FAST,
    LEFT_TO_OTHERS,
    NORMAL,
    WARNING,
    annotated,
    claim,
    of_claim,
    storage_class,
    story,
    volume,
)
from tests.fakes.objects import Doc, a_claim, a_pod, an_attributes_class

HELD = then("claim c: Pending deleting")
GONE = then("claim c: gone")
GOLD = {"volumeAttributesClassName": "$s-gold"}
CLASSED = {"storageClassName": "$s-none"}
NO_CLASS = of_claim(
    WARNING, "ProvisioningFailed", 'storageclass.storage.k8s.io "$s-none" not found'
)


def quiet_claim(**spec: Any) -> Doc:
    """One that finds no volume, and says always the same."""
    return claim(**(CLASSED | spec))


PROTECTION: Mapping[str, Story] = {
    "finalizers taken away by hand are put back": story(
        create("volume", volume()),
        create("attributes class", an_attributes_class()),
        create("claim", quiet_claim()),
        change("claim", "c", {"metadata": {"finalizers": ["example.com/mine"]}}),
        change("volume", "v", {"metadata": {"finalizers": None}}),
        change("attributes class", "gold", {"metadata": {"finalizers": None}}),
        told=(NO_CLASS,),
    ),
    "an unused claim goes at once": story(
        create("claim", quiet_claim()), delete("claim", "c"), GONE, told=(NO_CLASS,)
    ),
    "what others hold is let go by us and kept by them": story(
        create("claim", quiet_claim()),
        change(
            "claim",
            "c",
            {"metadata": {"finalizers": ["kubernetes.io/pvc-protection", "example.com/mine"]}},
        ),
        delete("claim", "c"),
        HELD,
        told=(NO_CLASS,),
    ),
    "a claim stays while a pod on a node names it, finished or not": story(
        create("claim", quiet_claim()),
        create("pod", a_pod("p", node="$s-n", claim="c")),
        change_status("pod", "p", {"phase": "Succeeded"}),
        delete("claim", "c"),
        HELD,
        delete("pod", "p"),
        GONE,
        told=(NO_CLASS,),
    ),
    "a claim goes only with its last user": story(
        create("claim", quiet_claim()),
        create("pod", a_pod("p", node="$s-n", claim="c")),
        create("pod", a_pod("q", node="$s-n", claim="c")),
        delete("claim", "c"),
        delete("pod", "p"),
        HELD,
        delete("pod", "q"),
        GONE,
        told=(NO_CLASS,),
    ),
    "a pod without a node does not keep a claim": story(
        create("claim", quiet_claim()),
        create("pod", a_pod("p", claim="c")),
        delete("claim", "c"),
        GONE,
        told=(NO_CLASS,),
    ),
    "a bound volume goes when its claim has left": story(
        create("volume", volume()),
        create("claim", claim()),
        delete("volume", "v"),
        then("volume v: Bound +c BBC deleting"),
        delete("claim", "c"),
        then("volume v: gone"),
    ),
    "a volume that nobody has goes at once": story(
        create("volume", volume()), delete("volume", "v"), then("volume v: gone")
    ),
    "attributes stay until the last volume and claim leave them": story(
        create("attributes class", an_attributes_class()),
        create("volume", volume(**GOLD)),
        create("claim", quiet_claim(**GOLD)),
        delete("attributes class", "gold"),
        delete("claim", "c"),
        then("attributes class gold: there deleting"),
        delete("volume", "v"),
        then("attributes class gold: gone"),
        told=(NO_CLASS,),
    ),
    "attributes stay while the status of a claim names them": story(
        create("attributes class", an_attributes_class()),
        create("claim", quiet_claim()),
        change_status(
            "claim",
            "c",
            {
                "modifyVolumeStatus": {
                    "status": "InProgress",
                    "targetVolumeAttributesClassName": "$s-gold",
                }
            },
        ),
        delete("attributes class", "gold"),
        then("attributes class gold: there deleting"),
        change_status("claim", "c", {"modifyVolumeStatus": None}),
        then("attributes class gold: gone"),
        told=(NO_CLASS,),
    ),
}


def with_ephemeral(*volumes: str) -> Doc:
    pod = a_pod("p")
    template = {
        "metadata": {"labels": {"app": "web"}, "annotations": {"note": "mine"}},
        "spec": a_claim("x", **CLASSED)["spec"],
    }
    pod["spec"]["volumes"] = [
        {"name": name, "ephemeral": {"volumeClaimTemplate": template}} for name in volumes
    ]
    return pod


def no_class(name: str) -> Told:
    message = 'storageclass.storage.k8s.io "$s-none" not found'
    return of_claim(WARNING, "ProvisioningFailed", message, name)


FOREIGN = Told(
    "pod p",
    WARNING,
    "FailedBinding",
    "ephemeral volume a: PVC $s/p-a was not created for pod $s/p (pod is not owner)",
)

EPHEMERAL: Mapping[str, Story] = {
    "a pod gets a claim of its own for each volume, and they go with it": story(
        create("pod", with_ephemeral("a", "b")),
        then("claim p-a: Pending", "claim p-b: Pending"),
        delete("pod", "p"),
        then("claim p-a: gone", "claim p-b: gone"),
        told=(no_class("p-a"), no_class("p-b")),
    ),
    "a claim deleted under a waiting pod is made again": story(
        create("pod", with_ephemeral("a")),
        delete("claim", "p-a"),
        then("claim p-a: gone", "claim p-a #2: Pending"),
        told=(no_class("p-a"), no_class("p-a #2")),
    ),
    "a claim of somebody else is not taken, and what comes behind it waits": story(
        create("claim", a_claim("p-a", **CLASSED)),
        create("pod", with_ephemeral("c", "a", "b")),
        then("claim p-c: Pending", "claim p-b: gone"),
        told=(no_class("p-a"), no_class("p-c"), FOREIGN),
    ),
}


def bound(**source: Any) -> tuple[Step, ...]:
    return (
        create("class", storage_class(allowVolumeExpansion=True)),
        create("volume", volume(storageClassName=FAST, **source)),
        create("claim", claim(storage="5Gi", storageClassName=FAST, **_mode(source))),
    )


def _mode(source: Doc) -> Doc:
    return {"volumeMode": source["volumeMode"]} if "volumeMode" in source else {}


def ask_for(size: str) -> Act:
    return change("claim", "c", {"spec": {"resources": {"requests": {"storage": size}}}})


FLEX: Doc = {"csi": None, "flexVolume": {"driver": "example.com/flex"}}
GROWN = of_claim(NORMAL, "VolumeResizeSuccessful", "ExpandVolume succeeded for volume $s/c")

EXPANSION: Mapping[str, Story] = {
    "growing a CSI volume is left to its resizer": story(
        *bound(),
        ask_for("10Gi"),
        then("claim c: Bound v 5Gi BBC"),
        told=(LEFT_TO_OTHERS,),
    ),
    "the driver that took over is named": story(
        *bound(csi=None, gcePersistentDisk={"pdName": "x"}),
        ask_for("10Gi"),
        told=(
            of_claim(
                NORMAL,
                "ExternalExpanding",
                "CSI migration enabled for kubernetes.io/gce-pd; "
                "waiting for external resizer to expand the pvc",
            ),
        ),
    ),
    "a flex volume grows, and its node has to finish": story(
        *bound(**FLEX),
        ask_for("10Gi"),
        then("claim c: Bound v 5Gi BBC", "volume v: Bound +c BBC 5Gi to 10Gi"),
        change_status(
            "claim",
            "c",
            {
                "capacity": {"storage": "10Gi"},
                "allocatedResourceStatuses": None,
                "conditions": None,
            },
        ),
        then("claim c: Bound v 10Gi BBC", "volume v: Bound +c BBC"),
    ),
    "a flex block device is finished at once": story(
        *bound(**FLEX, volumeMode="Block"),
        ask_for("10Gi"),
        then("claim c: Bound v 10Gi BBC"),
        told=(GROWN,),
    ),
    "a request lowered before the node has finished changes nothing": story(
        *bound(**FLEX),
        ask_for("10Gi"),
        ask_for("7Gi"),
        then("claim c: Bound v 5Gi BBC"),
    ),
    "a volume that is larger than its claim keeps its size while its file system grows": story(
        create("volume", annotated(volume(storage="8Gi", **FLEX), {PRE_RESIZE: "1Gi"})),
        create("claim", claim(storage="4Gi")),
        then("claim c: Bound v 1Gi BBC", "volume v: Bound +c BBC 1Gi to 8Gi"),
        kept=Kept.NEVER_SMALLER,
    ),
    "a class that does not allow it": story(
        *bound(),
        change("class", "fast", {"allowVolumeExpansion": False}),
        ask_for("10Gi"),
        then("claim c: Bound v 5Gi BBC"),
    ),
}

STORIES: Mapping[str, Story] = {**PROTECTION, **EPHEMERAL, **EXPANSION}
