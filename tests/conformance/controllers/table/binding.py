"""Claims and volumes that find each other, lose each other, and wait."""

from collections.abc import Mapping

from tests.conformance.controllers.differences import Kept
from tests.conformance.controllers.materials import BETA_CLASS, MANY, ONCE, PRE_RESIZE, WAIT
from tests.conformance.controllers.story import (
    Company,
    Story,
    change,
    change_status,
    create,
    delete,
    then,
)
from tests.conformance.controllers.table.words import (
    FAST,
    LEFT_TO_OTHERS,
    LOST,
    MISBOUND,
    NO_CONSUMER,
    NORMAL,
    WARNING,
    annotated,
    claim,
    mismatch,
    nothing_fits,
    of_claim,
    of_volume,
    reference,
    storage_class,
    story,
    volume,
)
from tests.fakes.objects import a_class, a_pod, an_attributes_class

BOTH_BOUND = then("volume v: Bound +c BBC", "claim c: Bound v 5Gi BBC")
FREE = then("volume v: Available")
LOCAL = storage_class(provisioner="kubernetes.io/no-provisioner", volumeBindingMode=WAIT)
WAITS = of_claim(NORMAL, "WaitForFirstConsumer", NO_CONSUMER)
TEMPORARY = {"path": "/tmp/mooring-conformance/$s"}  # noqa: S108  nothing is there
OF_WRONG_MODE = "due to incompatible volumeMode."

MATCHING: Mapping[str, Story] = {
    "a volume and a claim are bound": story(
        create("volume", volume()), FREE, create("claim", claim()), BOTH_BOUND
    ),
    "a volume that is too small is not taken": story(
        create("volume", volume(storage="1Gi")),
        create("claim", claim(storage="10Gi")),
        FREE,
        then("claim c: Pending"),
        told=(nothing_fits(),),
    ),
    "the smallest that fits is taken": story(
        create("volume", volume("v", "10Gi")),
        create("volume", volume("w", "2Gi")),
        create("claim", claim()),
        FREE,
        then("volume w: Bound +c BBC", "claim c: Bound w 2Gi BBC"),
    ),
    "a reserved volume waits for its claim and beats a smaller one": story(
        create("volume", volume(claimRef=reference())),
        then("volume v: Available -c"),
        create("volume", volume("w", "1Gi")),
        create("claim", claim()),
        then("volume v: Bound +c", "claim c: Bound v 5Gi BBC", "volume w: Available"),
    ),
    "a volume of an older claim of that name is not taken": story(
        create("volume", volume(claimRef=reference(uid="older"))),
        then("volume v: Released +c"),
        create("claim", claim()),
        then("volume v: Released +c", "claim c: Pending"),
        told=(nothing_fits(),),
    ),
    "a selector chooses by labels": story(
        create("volume", volume()),
        create("claim", claim(selector={"matchLabels": {"story": "$s", "tier": "a"}})),
        then("claim c: Pending"),
        change("volume", "v", {"metadata": {"labels": {"tier": "a"}}}),
        BOTH_BOUND,
        told=(nothing_fits(),),
    ),
    "few access modes come before a small size": story(
        create("volume", volume("v", "5Gi")),
        create("volume", volume("w", "1Gi", accessModes=[ONCE, MANY])),
        create("claim", claim()),
        BOTH_BOUND,
        then("volume w: Available"),
    ),
    "a reserved volume with more access modes": story(
        create("volume", volume("w", "5Gi")),
        create("volume", volume("v", "5Gi", accessModes=[ONCE, MANY], claimRef=reference())),
        create("claim", claim()),
        then("volume v: Bound +c", "volume w: Available"),
        kept=Kept.RESERVED_FIRST,
    ),
    "a reserved volume that is too small is ignored": story(
        create("volume", volume("w", "1Mi", claimRef=reference())),
        create("volume", volume()),
        create("claim", claim()),
        BOTH_BOUND,
        then("volume w: Available -c"),
    ),
    "only a volume of its class will do": story(
        create("volume", volume("u", "1Gi")),
        create("volume", volume("w", "1Gi", storageClassName="$s-other")),
        create("volume", volume(storageClassName=FAST)),
        create("claim", claim(storageClassName=FAST)),
        BOTH_BOUND,
    ),
    "the old annotation beats the class": story(
        create("volume", annotated(volume(), {BETA_CLASS: FAST})),
        create(
            "claim",
            annotated(
                claim(storageClassName="$s-other"),
                {BETA_CLASS: FAST},
            ),
        ),
        BOTH_BOUND,
    ),
    "only a volume with its attributes will do": story(
        create("attributes class", an_attributes_class()),
        create("volume", volume("u", "1Gi")),
        create("volume", volume(volumeAttributesClassName="$s-gold")),
        create("claim", claim(volumeAttributesClassName="$s-gold")),
        BOTH_BOUND,
    ),
    "block goes with block": story(
        create("volume", volume("u", "1Gi")),
        create("volume", volume(volumeMode="Block")),
        create("claim", claim(volumeMode="Block")),
        BOTH_BOUND,
    ),
    "a reserved volume of the wrong mode stays free": story(
        create("volume", volume(volumeMode="Block", claimRef=reference())),
        create("claim", claim()),
        then("volume v: Available -c", "claim c: Pending"),
        told=(nothing_fits(),),
    ),
    "a volume of the wrong mode is told on both sides": story(
        create("claim", claim(volumeMode="Block")),
        create("volume", volume(claimRef=reference(uid="$uid[c]"))),
        then("volume v: Pending +c", "claim c: Pending"),
        told=(
            nothing_fits(),
            of_volume(
                WARNING,
                "VolumeMismatch",
                "Cannot bind PersistentVolume to requested PersistentVolumeClaim "
                f'"c" {OF_WRONG_MODE}',
            ),
            of_claim(
                WARNING,
                "VolumeMismatch",
                'Cannot bind PersistentVolume "$s-v" to requested PersistentVolumeClaim '
                f"{OF_WRONG_MODE}",
            ),
        ),
    ),
    "a claim that came first is bound when a volume comes": story(
        create("claim", claim()),
        create("volume", volume()),
        BOTH_BOUND,
        told=(nothing_fits(),),
    ),
}

ASKED_FOR: Mapping[str, Story] = {
    "a claim gets the volume it asks for": story(
        create("volume", volume()),
        create("volume", volume("w", "1Gi")),
        create("claim", claim(volumeName="$s-v")),
        then("volume v: Bound +c BBC", "claim c: Bound v 5Gi"),
    ),
    "the volume it asks for comes later": story(
        create("claim", claim(volumeName="$s-v")),
        then("claim c: Pending v"),
        create("volume", volume()),
        then("volume v: Bound +c BBC", "claim c: Bound v 5Gi"),
    ),
    "both sides agree: neither size nor class is looked at": story(
        create("volume", volume(storage="1Mi", storageClassName=FAST, claimRef=reference())),
        create("claim", claim(volumeName="$s-v")),
        then("volume v: Bound +c", "claim c: Bound v 1Mi"),
        told=(LEFT_TO_OTHERS,),
    ),
    "the volume it asks for is taken, and free again later": story(
        create("volume", volume()),
        create("claim", claim("first")),
        create("claim", claim(volumeName="$s-v")),
        then("claim c: Pending v"),
        delete("claim", "first"),
        change("volume", "v", {"spec": {"claimRef": None}}),
        then("volume v: Bound +c BBC", "claim c: Bound v 5Gi"),
        told=(
            of_claim(WARNING, "FailedBinding", 'volume "$s-v" already bound to a different claim.'),
        ),
    ),
    "a claim asks for a volume without its access mode": story(
        create("volume", volume()),
        create("claim", claim(volumeName="$s-v", accessModes=[MANY])),
        FREE,
        told=(mismatch("incompatible accessMode"),),
    ),
    "a claim asks for a volume that is too small": story(
        create("volume", volume()),
        create("claim", claim(storage="10Gi", volumeName="$s-v")),
        FREE,
        told=(mismatch("requested PV is too small"),),
    ),
    "a claim asks for a volume of another class": story(
        create("volume", volume(storageClassName=FAST)),
        create("claim", claim(volumeName="$s-v")),
        FREE,
        told=(mismatch("storageClassName does not match"),),
    ),
    "a claim asks for a volume with other attributes": story(
        create("volume", volume(volumeAttributesClassName="$s-gold")),
        create("claim", claim(volumeName="$s-v")),
        FREE,
        told=(mismatch("volumeAttributesClassName does not match"),),
    ),
    "a claim asks for a volume that is being deleted": story(
        create(
            "volume",
            volume() | {"metadata": {"name": "v", "finalizers": ["example.com/mine"]}},
        ),
        delete("volume", "v"),
        create("claim", claim(volumeName="$s-v")),
        then("volume v: Available deleting", "claim c: Pending v"),
        told=(mismatch('the volume is marked for deletion "$s-v"'),),
    ),
    "a claim asks for a volume of the wrong mode": story(
        create("volume", volume(volumeMode="Block")),
        create("claim", claim(volumeName="$s-v")),
        FREE,
        told=(mismatch("incompatible volumeMode"),),
    ),
}

DELAYED: Mapping[str, Story] = {
    "a delayed claim waits for a pod, and then for its node": story(
        create("class", LOCAL),
        create("volume", volume(storageClassName=FAST)),
        create("claim", claim(storageClassName=FAST)),
        create("pod", a_pod("p", claim="c")),
        FREE,
        then("claim c: Pending"),
        told=(
            WAITS,
            of_claim(NORMAL, "WaitForPodScheduled", "waiting for pod p to be scheduled"),
        ),
    ),
    "a delayed claim waits for the node of any of its pods": story(
        create("class", LOCAL),
        create("pod", a_pod("p", claim="c")),
        create("pod", a_pod("q", claim="c")),
        create("claim", claim(storageClassName=FAST)),
        change_status("pod", "p", {"phase": "Failed"}),
        delete("pod", "q"),
        told=(
            of_claim(NORMAL, "WaitForPodScheduled", "waiting for pods p,q to be scheduled"),
            of_claim(NORMAL, "WaitForPodScheduled", "waiting for pod q to be scheduled"),
            WAITS,
        ),
    ),
    "a volume reserved by the scheduler ends the wait": story(
        create("class", LOCAL),
        create("volume", volume(storageClassName=FAST)),
        create("claim", claim(storageClassName=FAST)),
        change("volume", "v", {"spec": {"claimRef": reference(uid="$uid[c]")}}),
        then("volume v: Bound +c", "claim c: Bound v 5Gi BBC"),
        told=(WAITS,),
    ),
    "a delayed claim is bound when its class disappears": story(
        create("class", LOCAL),
        create("volume", volume(storageClassName=FAST)),
        create("claim", claim(storageClassName=FAST)),
        delete("class", "fast"),
        BOTH_BOUND,
        told=(WAITS,),
    ),
    "a default class that comes later is given to waiting claims": story(
        create("claim", claim()),
        create("class", a_class("fast", is_default=True) | {"volumeBindingMode": WAIT}),
        delete("class", "fast"),
        create("volume", volume(storageClassName=FAST)),
        BOTH_BOUND,
        told=(
            nothing_fits(),
            WAITS,
            of_claim(
                WARNING,
                "ProvisioningFailed",
                'storageclass.storage.k8s.io "$s-fast" not found',
            ),
        ),
        company=Company.NOBODY,
    ),
    "a claim that wants no class gets no default class": story(
        create("claim", claim(storageClassName="")),
        create("class", a_class("fast", is_default=True)),
        create("volume", volume()),
        BOTH_BOUND,
        told=(nothing_fits(),),
        company=Company.NOBODY,
    ),
}

LOSING: Mapping[str, Story] = {
    "a volume that forgot its claim is bound again": story(
        create("volume", volume()),
        create("claim", claim()),
        change("volume", "v", {"spec": {"claimRef": None}}),
        BOTH_BOUND,
    ),
    "a volume that points at another claim loses its own": story(
        create("volume", volume()),
        create("claim", claim()),
        change("volume", "v", {"spec": {"claimRef": {"uid": "other"}}}),
        then("claim c: Lost v BBC", "volume v: Released +c BBC"),
        told=(of_claim(WARNING, "ClaimMisbound", MISBOUND),),
    ),
    "a volume to be deleted that points at another claim is kept for its own": story(
        create(
            "volume",
            volume(persistentVolumeReclaimPolicy="Delete", csi=None, hostPath=TEMPORARY),
        ),
        create("claim", claim()),
        change("volume", "v", {"spec": {"claimRef": {"uid": "other"}}}),
        then("claim c: Lost v BBC", "volume v: Bound +c BBC"),
        told=(
            of_claim(WARNING, "ClaimMisbound", MISBOUND),
            of_volume(
                WARNING,
                "ClaimMisbound",
                'Claim "$s/c" is bound to this volume, but spec.claimRef does not name it',
            ),
        ),
        kept=Kept.HELD,
    ),
    "a volume torn away loses the claim, which is bound again when it comes back": story(
        create("volume", volume()),
        create("claim", claim()),
        delete("volume", "v"),
        then("volume v: Bound +c BBC deleting"),
        change("volume", "v", {"metadata": {"finalizers": None}}),
        then("volume v: gone", "claim c: Lost v BBC"),
        create("volume", volume()),
        then("volume v #2: Bound +c BBC", "claim c: Bound v 5Gi BBC"),
        told=(of_claim(WARNING, "ClaimLost", LOST),),
    ),
    "a volume whose file system has yet to grow": story(
        create(
            "volume",
            annotated(volume(storage="2Gi"), {PRE_RESIZE: "1Gi"}),
        ),
        create("claim", claim(storage="2Gi")),
        then("claim c: Bound v 1Gi BBC"),
        told=(LEFT_TO_OTHERS,),
    ),
    "phases that make no sense are put right": story(
        create("volume", volume()),
        change_status("volume", "v", {"phase": "Released"}),
        FREE,
        create("claim", claim()),
        change_status("claim", "c", {"phase": "Lost"}),
        change_status("volume", "v", {"phase": "Failed"}),
        BOTH_BOUND,
    ),
    "a volume that is to go and loses its claimRef": story(
        create("volume", volume()),
        create("claim", claim()),
        delete("volume", "v"),
        change("volume", "v", {"spec": {"claimRef": None}}),
        then("volume v: Bound +c BBC deleting", "claim c: Bound v 5Gi BBC"),
        kept=Kept.BOUND_AGAIN,
    ),
    "a new claim of the same name does not get the old volume": story(
        create("volume", volume()),
        create("claim", claim()),
        delete("claim", "c"),
        create("claim", claim()),
        then("volume v: Released +c BBC", "claim c #2: Pending"),
        change("volume", "v", {"spec": {"claimRef": {"uid": None}}}),
        then("volume v: Bound +c BBC", "claim c #2: Bound v 5Gi BBC"),
        told=(nothing_fits("c #2"),),
    ),
    "a half bound volume that does not fit": story(
        create("claim", claim()),
        create("volume", volume(storage="1Mi", claimRef=reference(uid="$uid[c]"))),
        then("claim c: Pending", "volume v: Pending +c"),
        told=(nothing_fits(),),
    ),
}

STORIES: Mapping[str, Story] = {**MATCHING, **ASKED_FOR, **DELAYED, **LOSING}
