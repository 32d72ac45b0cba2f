"""Volumes that their claims have left: kept, deleted, recycled."""

from collections.abc import Mapping
from typing import Any

from tests.conformance.controllers.differences import Kept
from tests.conformance.controllers.materials import PROVISIONED_BY, an_affinity
from tests.conformance.controllers.story import Act, Step, Story, change, create, delete, then
from tests.conformance.controllers.table.words import (
    NORMAL,
    WARNING,
    annotated,
    claim,
    of_volume,
    recycling,
    reference,
    story,
    volume,
)
from tests.fakes.objects import Doc, a_pod

TEMPORARY = {"path": "/tmp/mooring-conformance/$s"}  # noqa: S108  nothing is there
NFS = {"server": "nowhere.example.com", "path": "/x"}
LEFT = then("volume v: Released +c BBC", "claim c: gone")
GONE = then("volume v: gone", "claim c: gone")
RECYCLED = of_volume(NORMAL, "VolumeRecycled", "Volume recycled")


def left(policy: str, **spec: Any) -> Doc:
    """A volume below the temporary directory, or of another source."""
    source = {} if {"nfs", "local", "csi"} & spec.keys() else {"hostPath": TEMPORARY}
    chosen: Doc = {"csi": None, "persistentVolumeReclaimPolicy": policy, **source, **spec}
    return volume("v", "5Gi", **chosen)


def let_go(doc: Doc) -> tuple[Step, ...]:
    return create("volume", doc), create("claim", claim()), delete("claim", "c")


def recycler_ends(**status: str) -> Act:
    path = "/api/v1/namespaces/default/pods/recycler-for-$s-v/status"
    return Act("the recycler pod ends", "PATCH", path, {"status": status})


def failed(why: str) -> str:
    return f"volume v: Failed +c BBC ({why})"


def cannot_delete(why: str) -> str:
    return f'error getting deleter volume plugin for volume "$s-v": {why}'


CSI = {"driver": "d.example.com", "volumeHandle": "h"}
NO_DELETER = cannot_delete("no deletable volume plugin matched")
NO_PLUGIN = cannot_delete("no volume plugin matched")
ONLY_TEMPORARY = "host_path deleter only supports /tmp/.+ but received provided"
NOT_TEMPORARY = f"{ONLY_TEMPORARY} /srv/$s"
NO_RECYCLER = "No recycler plugin found for the volume!"
ON_FIRE = "Recycle failed: failed to recycle volume: disk on fire"

DELETED: Mapping[str, Story] = {
    "a volume to be kept is kept": story(*let_go(left("Retain")), LEFT),
    "a volume to be deleted is deleted": story(*let_go(left("Delete")), GONE),
    "the plugin cannot delete": story(
        *let_go(left("Delete", nfs=NFS)),
        then(failed(NO_DELETER)),
        told=(of_volume(WARNING, "VolumeFailedDelete", NO_DELETER),),
    ),
    "there is no plugin": story(
        *let_go(left("Delete", local={"path": "/mnt/x"}, nodeAffinity=an_affinity())),
        then(failed(NO_PLUGIN)),
        told=(of_volume(WARNING, "VolumeFailedDelete", NO_PLUGIN),),
    ),
    "what is not temporary is not deleted": story(
        *let_go(left("Delete", hostPath={"path": "/srv/$s"})),
        then(failed(NOT_TEMPORARY)),
        change("volume", "v", {"spec": {"claimRef": None}}),
        then("volume v: Available BBC"),
        told=(of_volume(WARNING, "VolumeFailedDelete", NOT_TEMPORARY),),
    ),
    "the last of several failures is shown": story(
        *let_go(left("Delete", nfs=NFS)),
        change("volume", "v", {"metadata": {"annotations": {PROVISIONED_BY: "kubernetes.io/x"}}}),
        then(failed("no volume plugin matched name: kubernetes.io/x")),
        told=(of_volume(WARNING, "VolumeFailedDelete", NO_DELETER),),
        kept=Kept.LAST_MESSAGE,
    ),
    "what is called temporary and lies elsewhere is not deleted": story(
        *let_go(left("Delete", hostPath={"path": "/srv/tmp/$s"})),
        then(failed(f"{ONLY_TEMPORARY} /srv/tmp/$s")),
        told=(of_volume(WARNING, "VolumeFailedDelete", f"{ONLY_TEMPORARY} /srv/tmp/$s"),),
        kept=Kept.TEMPORARY,
    ),
    "a volume reserved anew in time keeps its data": story(
        *let_go(left("Delete", nfs=NFS)),
        change("volume", "v", {"spec": {"claimRef": {"uid": None}}}),
        then("volume v: Available -c BBC"),
        create("claim", claim()),
        then("volume v: Bound +c BBC", "claim c #2: Bound v 5Gi BBC"),
        told=(of_volume(WARNING, "VolumeFailedDelete", NO_DELETER),),
    ),
    "what was made outside is left to whoever made it": story(
        *let_go(annotated(left("Delete", csi=CSI), {PROVISIONED_BY: "d.example.com"})), LEFT
    ),
    "a CSI volume is left to its driver": story(*let_go(left("Delete", csi=CSI)), LEFT),
    "a volume that a driver has taken over is left to it": story(
        *let_go(annotated(left("Delete"), {PROVISIONED_BY: "kubernetes.io/gce-pd"})), LEFT
    ),
    "a volume that was made here is not gone before its asset": story(
        create("volume", annotated(left("Delete"), {PROVISIONED_BY: "kubernetes.io/host-path"})),
        create("claim", claim()),
        delete("volume", "v"),
        then("volume v: Bound +c BBC deleting"),
        delete("claim", "c"),
        GONE,
    ),
    "the policy is changed after the claim has left": story(
        *let_go(left("Retain")),
        LEFT,
        change("volume", "v", {"spec": {"persistentVolumeReclaimPolicy": "Delete"}}),
        GONE,
    ),
    "a second volume for the same claim is let go": story(
        create("volume", left("Retain")),
        create("claim", claim()),
        create("volume", volume("w", claimRef=reference(uid="$uid[c]"))),
        then("volume v: Bound +c BBC", "volume w: Available -c"),
    ),
    "a second volume that was made for the same claim is deleted": story(
        create("volume", left("Retain")),
        create("claim", claim()),
        create(
            "volume",
            annotated(
                volume(
                    "w",
                    csi=None,
                    hostPath=TEMPORARY,
                    persistentVolumeReclaimPolicy="Delete",
                    claimRef=reference(uid="$uid[c]"),
                ),
                {PROVISIONED_BY: "kubernetes.io/host-path"},
            ),
        ),
        then("volume v: Bound +c BBC", "volume w: gone"),
    ),
}

RECYCLED_STORIES: Mapping[str, Story] = {
    "a volume is wiped and offered anew": recycling(
        *let_go(left("Recycle")),
        LEFT,
        then("pod recycler-for-$s-v: there"),
        recycler_ends(phase="Succeeded"),
        then("volume v: Available", "pod recycler-for-$s-v: gone"),
        told=(RECYCLED,),
    ),
    "a volume that a user reserved stays reserved": recycling(
        *let_go(left("Recycle", claimRef=reference())),
        recycler_ends(phase="Succeeded"),
        then("volume v: Available -c"),
        told=(RECYCLED,),
    ),
    "a share of the network is wiped": recycling(
        *let_go(left("Recycle", nfs=NFS)),
        recycler_ends(phase="Succeeded"),
        then("volume v: Available"),
        told=(RECYCLED,),
    ),
    "a failure is told, and wiping begins anew": recycling(
        *let_go(left("Recycle")),
        recycler_ends(phase="Failed", message="disk on fire"),
        then(failed(ON_FIRE), "pod recycler-for-$s-v #2: there"),
        recycler_ends(phase="Succeeded"),
        then("volume v: Available"),
        told=(of_volume(WARNING, "VolumeFailedRecycle", ON_FIRE), RECYCLED),
    ),
    "nobody can wipe it": story(
        *let_go(left("Recycle", local={"path": "/mnt/x"}, nodeAffinity=an_affinity())),
        then(failed(NO_RECYCLER)),
        told=(of_volume(WARNING, "VolumeFailedRecycle", NO_RECYCLER),),
    ),
    "a pod that still uses it holds up wiping": recycling(
        create("pod", a_pod("p", claim="c")),
        *let_go(left("Recycle")),
        LEFT,
        then("pod recycler-for-$s-v: gone"),
        delete("pod", "p"),
        then("pod recycler-for-$s-v: there"),
        told=(of_volume(NORMAL, "VolumeFailedRecycle", "Volume is used by pods: $s/p"),),
    ),
}

STORIES: Mapping[str, Story] = {**DELETED, **RECYCLED_STORIES}
