"""The scenario table of the binder, numbers included: one look at a claim, or until all is settled.

Expected volumes read `phase ref=claim/uid BBC`, claims `phase volume capacity BBC DONE`; BBC is
bound-by-controller, DONE is bind-completed.
"""

from enum import Enum
from typing import Any, NamedTuple

import pytest

from mooring.controllers.binding.decide.claim import (
    LOST_REFERENCE,
    LOST_VOLUME,
    MISBOUND,
    NO_CONSUMER,
    NO_VOLUME,
)
from mooring.controllers.binding.plan import Provision
from mooring.model.claim import Claim, ClaimPhase
from mooring.model.storage_class import StorageClass
from mooring.model.storage_terms import AccessMode, BindingMode, VolumeMode
from mooring.model.volume import Volume, VolumePhase
from mooring.model.wellknown import Annotation
from tests.unit.controllers.binding.things import (
    BBC,
    DONE,
    ROX,
    RWO,
    RWX,
    C,
    a_claim,
    a_class,
    a_volume,
    labelled,
    ref,
)
from tests.unit.controllers.binding.world import tell_claim, tell_volume, world

BLOCK, FILES = VolumeMode.BLOCK, VolumeMode.FILESYSTEM
FAILED_BINDING = ("Normal", "FailedBinding", NO_VOLUME)
BOUND = "Bound pv 1Gi BBC DONE"
PRESET = "Bound pv 1Gi DONE"
WAITING = a_class(waits=True)
Event = tuple[str, str, str]


class Do(Enum):
    LOOK = "C"
    SETTLE = "M"


class Row(NamedTuple):
    given: tuple[Volume | Claim | StorageClass, ...]
    then: dict[str, str]
    events: tuple[Event, ...] = ()
    do: Do = Do.LOOK
    unscheduled: tuple[str, ...] = ()


def mismatch(why: str, volume: str = "pv") -> Event:
    return ("Warning", "VolumeMismatch", f'Cannot bind to requested volume "{volume}": {why}')


def taken(volume: str = "pv") -> Event:
    return ("Warning", "FailedBinding", f'volume "{volume}" already bound to a different claim.')


def no_class(name: str) -> Event:
    return ("Warning", "ProvisioningFailed", f'storageclass.storage.k8s.io "{name}" not found')


def gold(**body: Any) -> Volume:
    return a_volume(storage_class_name="gold", **body)


def with_attributes(name: str, class_name: str | None) -> Volume:
    return a_volume(name, volume_attributes_class_name=class_name)


SMALL, LARGE = a_volume("small", "1Gi"), a_volume("large", "10Gi")
ONCE = a_volume("a", "10G", RWO)
READ = a_volume("b", "10G", RWO, ROX)
MANY = a_volume("d", "10G", RWO, ROX, RWX)

SEARCH: dict[str, Row] = {
    "a volume that fits": Row((a_volume(), a_claim()), {"pv": "Bound ref=c/u BBC", "c": BOUND}),
    "a volume that is too small": Row(
        (a_volume(), a_claim("10Gi")), {"pv": "Available", "c": "Pending"}, (FAILED_BINDING,)
    ),
    "a claim that says Bound and never was": Row(
        (a_volume(), a_claim("10Gi", phase=ClaimPhase.BOUND, has="10Gi")),
        {"c": "Pending"},
        (FAILED_BINDING,),
    ),
    "the smaller of two volumes": Row(
        (LARGE, SMALL, a_claim()), {"small": "Bound ref=c/u BBC", "large": "Available"}
    ),
    "a volume reserved by name before a smaller one": Row(
        (a_volume("large", "10Gi", claim_ref=ref("c")), SMALL, a_claim()),
        {"large": "Bound ref=c/u", "small": "Available", "c": "Bound large 10Gi BBC DONE"},
    ),
    "a volume reserved by uid before a smaller one": Row(
        (a_volume("large", "10Gi", claim_ref=ref("c", "u")), SMALL, a_claim()),
        {"large": "Bound ref=c/u", "small": "Available", "c": "Bound large 10Gi BBC DONE"},
    ),
    "a volume reserved for an older claim of that name is not for this one": Row(
        (a_volume(claim_ref=ref("c", "other")), a_claim()),
        {"pv": "Available ref=c/other", "c": "Pending"},
        (FAILED_BINDING,),
    ),
    "a binding cut off after the volume's spec": Row(
        (a_volume(claim_ref=ref("c", "u"), annotations=BBC), a_claim()),
        {"pv": "Bound ref=c/u BBC", "c": BOUND},
    ),
    "a binding cut off after the volume's status": Row(
        (a_volume(claim_ref=ref("c", "u"), annotations=BBC, phase=VolumePhase.BOUND), a_claim()),
        {"pv": "Bound ref=c/u BBC", "c": BOUND},
    ),
    "a binding cut off after the claim's spec": Row(
        (
            a_volume(claim_ref=ref("c", "u"), annotations=BBC, phase=VolumePhase.BOUND),
            a_claim(volume="pv", annotations=BBC | DONE),
        ),
        {"pv": "Bound ref=c/u BBC", "c": BOUND},
    ),
    "a volume whose labels match the selector": Row(
        (a_volume(labels={"disk": "ssd"}), a_claim(selector=labelled(disk="ssd"))), {"c": BOUND}
    ),
    "a volume whose labels do not match the selector": Row(
        (a_volume(labels={"disk": "hdd"}), a_claim(selector=labelled(disk="ssd"))),
        {"c": "Pending"},
        (FAILED_BINDING,),
    ),
    "an empty selector matches everything": Row(
        (a_volume(), a_claim(selector=labelled())), {"c": BOUND}
    ),
    "a volume nobody has looked at yet is taken at once, without Available first": Row(
        (a_volume(phase=VolumePhase.PENDING), a_claim()), {"pv": "Bound ref=c/u BBC", "c": BOUND}
    ),
    "failed, released and phaseless volumes are not taken": Row(
        (
            a_volume("f", phase=VolumePhase.FAILED),
            a_volume("r", phase=VolumePhase.RELEASED),
            a_volume("n", phase=""),
            a_claim(),
        ),
        {"f": "Failed", "r": "Released", "c": "Pending"},
        (FAILED_BINDING,),
    ),
    "a new volume and a claim that come together": Row(
        (a_volume(phase=VolumePhase.PENDING), a_claim()),
        {"pv": "Bound ref=c/u BBC", "c": BOUND},
        do=Do.SETTLE,
    ),
    "the only volume is being deleted": Row(
        (a_volume(deleting=True), a_claim()), {"c": "Pending"}, (FAILED_BINDING,)
    ),
    "the volume with the fewest access modes": Row(
        (MANY, READ, ONCE, a_claim()), {"a": "Bound ref=c/u BBC"}
    ),
    "the volume with the next fewest access modes, the first being taken": Row(
        (MANY, READ, a_claim()), {"b": "Bound ref=c/u BBC"}
    ),
    "the volume with the most access modes, the others being taken": Row(
        (MANY, a_claim()), {"d": "Bound ref=c/u BBC"}
    ),
    "all access modes wanted": Row(
        (ONCE, READ, MANY, a_claim("1Gi", RWX, RWO, ROX)), {"d": "Bound ref=c/u BBC"}
    ),
    "only ReadWriteMany wanted": Row(
        (ONCE, READ, MANY, a_claim("1Gi", RWX)), {"d": "Bound ref=c/u BBC"}
    ),
    "only ReadOnlyMany wanted": Row(
        (ONCE, READ, MANY, a_claim("1Gi", ROX)), {"b": "Bound ref=c/u BBC"}
    ),
    "fewer access modes come before a smaller size": Row(
        (a_volume("a", "100Gi", RWO), a_volume("b", "1Gi", RWO, RWX), a_claim()),
        {"a": "Bound ref=c/u BBC", "b": "Available"},
    ),
    "a reservation comes before fewer access modes (upstream: after)": Row(
        (a_volume("a"), a_volume("b", "1Gi", RWO, RWX, claim_ref=ref("c")), a_claim()),
        {"a": "Available", "b": "Bound ref=c/u"},
    ),
    "a reserved volume that is too small": Row(
        (a_volume("tiny", "1Mi", claim_ref=ref("c")), SMALL, a_claim()),
        {"tiny": "Available ref=c/-", "small": "Bound ref=c/u BBC"},
    ),
    "a reserved volume that lacks the access mode": Row(
        (a_volume("once", claim_ref=ref("c")), a_volume("many", "1Gi", RWX), a_claim("1Gi", RWX)),
        {"once": "Available ref=c/-", "many": "Bound ref=c/u BBC"},
    ),
    "only a volume of the claim's class": Row(
        (
            a_volume("none"),
            a_volume("silver", storage_class_name="silver"),
            a_volume("golden", "10Gi", storage_class_name="gold"),
            a_claim(storage_class_name="gold"),
        ),
        {"none": "Available", "silver": "Available", "golden": "Bound ref=c/u BBC"},
    ),
    "without a class, only a volume without one": Row(
        (gold(name="golden"), a_volume("none", "10Gi"), a_claim()),
        {"golden": "Available", "none": "Bound ref=c/u BBC"},
    ),
    "with the empty class, only a volume without one": Row(
        (gold(name="golden"), a_volume("none", "10Gi"), a_claim(storage_class_name="")),
        {"golden": "Available", "none": "Bound ref=c/u BBC"},
    ),
    "the old annotation beats the class in the spec": Row(
        (
            a_volume(annotations={Annotation.STORAGE_CLASS_BETA: "gold"}),
            a_claim(
                annotations={Annotation.STORAGE_CLASS_BETA: "gold"}, storage_class_name="silver"
            ),
        ),
        {"c": BOUND},
    ),
    "a class that nobody made is still a name": Row(
        (gold(), a_claim(storage_class_name="gold")), {"c": BOUND}
    ),
    "a size beyond 64 bits that fits": Row(
        (a_volume(size="800E"), a_claim("800E")), {"c": "Bound pv 800E BBC DONE"}
    ),
    "a size beyond 64 bits that does not fit": Row(
        (a_volume(size="800E"), a_claim("950E")), {"c": "Pending"}, (FAILED_BINDING,)
    ),
    "only a volume of the claim's attributes class": Row(
        (
            with_attributes("a", None),
            with_attributes("b", "silver"),
            a_claim(volume_attributes_class_name="silver"),
        ),
        {"a": "Available", "b": "Bound ref=c/u BBC"},
    ),
    "no volume has that attributes class": Row(
        (with_attributes("b", "silver"), a_claim(volume_attributes_class_name="brass")),
        {"c": "Pending"},
        (FAILED_BINDING,),
    ),
    "block wanted, block there": Row(
        (a_volume(volume_mode=BLOCK), a_claim(volume_mode=BLOCK)), {"c": BOUND}
    ),
    "file system wanted, file system there": Row(
        (a_volume(volume_mode=FILES), a_claim(volume_mode=FILES)), {"c": BOUND}
    ),
    "block wanted, file system there": Row(
        (a_volume(), a_claim(volume_mode=BLOCK)), {"c": "Pending"}, (FAILED_BINDING,)
    ),
    "block wanted of a class that nobody made": Row(
        (gold(), a_claim(volume_mode=BLOCK, storage_class_name="gold")),
        {"c": "Pending"},
        (no_class("gold"),),
    ),
    "a reserved volume of the wrong volume mode": Row(
        (a_volume(volume_mode=BLOCK, claim_ref=ref("c")), a_claim()),
        {"pv": "Available ref=c/-", "c": "Pending"},
        (FAILED_BINDING,),
    ),
}

DELAYED: dict[str, Row] = {
    "a delayed claim gets no free volume before a pod has a node": Row(
        (WAITING, gold(), a_claim(storage_class_name="gold")),
        {"pv": "Available", "c": "Pending"},
        (("Normal", "WaitForFirstConsumer", NO_CONSUMER),),
    ),
    "a delayed claim whose pod waits for a node": Row(
        (WAITING, a_claim(storage_class_name="gold")),
        {"c": "Pending"},
        (("Normal", "WaitForPodScheduled", "waiting for pod p1 to be scheduled"),),
        unscheduled=("p1",),
    ),
    "a delayed claim of which two pods wait for a node": Row(
        (WAITING, a_claim(storage_class_name="gold")),
        {"c": "Pending"},
        (("Normal", "WaitForPodScheduled", "waiting for pods p1,p2 to be scheduled"),),
        unscheduled=("p1", "p2"),
    ),
    "a volume that a user reserved for a delayed claim is bound at once": Row(
        (WAITING, gold(claim_ref=ref("c")), a_claim(storage_class_name="gold")),
        {"pv": "Bound ref=c/u", "c": BOUND},
    ),
    "a volume that the scheduler reserved for a delayed claim is bound at once": Row(
        (
            WAITING,
            gold(claim_ref=ref("c", "u")),
            a_claim(storage_class_name="gold", annotations={Annotation.SELECTED_NODE: "n1"}),
        ),
        {"pv": "Bound ref=c/u", "c": BOUND},
    ),
    "a delayed claim whose class object is gone waits for nobody": Row(
        (gold(), a_claim(storage_class_name="gold")), {"c": BOUND}
    ),
}

IMPOSSIBLE = "the volume we chose is bound to another claim: an error, nothing is written"

PRESET_VOLUME: dict[str, Row] = {
    "the volume asked for, though another is smaller": Row(
        (LARGE, SMALL, a_claim(volume="large")),
        {"large": "Bound ref=c/u BBC", "small": "Available", "c": "Bound large 10Gi DONE"},
    ),
    "the volume asked for lacks the access mode": Row(
        (a_volume(), a_claim("1Gi", RWX, volume="pv")),
        {"c": "Pending pv"},
        (mismatch("incompatible accessMode"),),
    ),
    "the volume asked for is not there": Row((a_claim(volume="pv"),), {"c": "Pending pv"}),
    "the volume asked for is not there, though the claim says Bound": Row(
        (a_claim(volume="pv", phase=ClaimPhase.BOUND, has="1Gi"),), {"c": "Pending pv"}
    ),
    "the volume asked for is reserved for the claim by name": Row(
        (a_volume(claim_ref=ref("c")), a_claim(volume="pv")), {"pv": "Bound ref=c/u", "c": PRESET}
    ),
    "the volume asked for is reserved for the claim by uid": Row(
        (a_volume(claim_ref=ref("c", "u")), a_claim(volume="pv")),
        {"pv": "Bound ref=c/u", "c": PRESET},
    ),
    "both sides agreed: size, class and deletion do not matter": Row(
        (gold(claim_ref=ref("c"), deleting=True), a_claim("10Gi", volume="pv")),
        {"pv": "Bound ref=c/u", "c": PRESET},
    ),
    "the volume asked for is bound to another claim": Row(
        (
            a_volume(claim_ref=ref("d", "v"), phase=VolumePhase.BOUND),
            a_claim(volume="pv", phase=ClaimPhase.BOUND, has="1Gi"),
        ),
        {"pv": "Bound ref=d/v", "c": "Pending pv"},
        (taken(),),
    ),
    IMPOSSIBLE: Row(
        (
            a_volume(claim_ref=ref("d", "v"), phase=VolumePhase.BOUND),
            a_claim(volume="pv", phase=ClaimPhase.BOUND, has="1Gi", annotations=BBC),
        ),
        {"pv": "Bound ref=d/v", "c": "Bound pv 1Gi BBC"},
        (taken(),),
    ),
    "the volume asked for is too small": Row(
        (a_volume(), a_claim("2Gi", volume="pv")),
        {"pv": "Available", "c": "Pending pv"},
        (mismatch("requested PV is too small"),),
    ),
    "the volume asked for has another class": Row(
        (gold(), a_claim(volume="pv")),
        {"c": "Pending pv"},
        (mismatch("storageClassName does not match"),),
    ),
    "the volume asked for has another attributes class": Row(
        (with_attributes("pv", "gold"), a_claim(volume="pv")),
        {"c": "Pending pv"},
        (mismatch("volumeAttributesClassName does not match"),),
    ),
    "the volume asked for does not match the selector, which does not count": Row(
        (a_volume(), a_claim(volume="pv", selector=labelled(disk="ssd"))), {"c": PRESET}
    ),
    "the volume asked for is being deleted": Row(
        (a_volume(deleting=True), a_claim(volume="pv")),
        {"c": "Pending pv"},
        (mismatch('the volume is marked for deletion "pv"'),),
    ),
    "the volume asked for has another volume mode": Row(
        (a_volume(volume_mode=BLOCK), a_claim(volume="pv")),
        {"c": "Pending pv"},
        (mismatch("incompatible volumeMode"),),
    ),
}

BOUND_BEFORE: dict[str, Row] = {
    "a bound claim has lost its volumeName": Row(
        (a_claim(annotations=DONE, phase=ClaimPhase.BOUND, has="1Gi"),),
        {"c": "Lost DONE"},
        (("Warning", "ClaimLost", LOST_REFERENCE),),
    ),
    "a bound claim's volume is gone": Row(
        (a_claim(volume="pv", annotations=DONE, phase=ClaimPhase.BOUND, has="1Gi"),),
        {"c": "Lost pv DONE"},
        (("Warning", "ClaimLost", LOST_VOLUME),),
    ),
    "a bound claim's volume is gone, as was told before": Row(
        (a_claim(volume="pv", annotations=DONE, phase=ClaimPhase.LOST),), {"c": "Lost pv DONE"}
    ),
    "a bound claim's volume has forgotten it: bound again, whatever the selector says": Row(
        (
            a_volume(),
            a_claim(
                volume="pv",
                annotations=DONE,
                phase=ClaimPhase.BOUND,
                has="1Gi",
                selector=labelled(disk="ssd"),
            ),
        ),
        {"pv": "Bound ref=c/u BBC", "c": PRESET},
    ),
    "a bound claim's volume is bound to another claim": Row(
        (
            a_volume(claim_ref=ref("c", "other"), phase=VolumePhase.BOUND),
            a_claim(volume="pv", annotations=DONE, phase=ClaimPhase.BOUND, has="1Gi"),
        ),
        {"pv": "Bound ref=c/other", "c": "Lost pv DONE"},
        (("Warning", "ClaimMisbound", MISBOUND),),
    ),
    "a bound claim's volume knows only its name": Row(
        (
            a_volume(claim_ref=ref("c")),
            a_claim(volume="pv", annotations=DONE, phase=ClaimPhase.BOUND, has="1Gi"),
        ),
        {"c": "Lost pv DONE"},
        (("Warning", "ClaimMisbound", MISBOUND),),
    ),
    "a lost volume that comes back": Row(
        (a_volume(), a_claim(volume="pv", annotations=DONE, phase=ClaimPhase.LOST)),
        {"pv": "Bound ref=c/u BBC", "c": PRESET},
        do=Do.SETTLE,
    ),
    "the volume has grown, its file system has not": Row(
        (
            a_volume(size="2Gi", annotations={Annotation.PRE_RESIZE_CAPACITY: "1Gi"}),
            a_claim("2Gi"),
        ),
        {"c": BOUND},
    ),
    "a capacity before resizing that cannot be read": Row(
        (a_volume(size="2Gi", annotations={Annotation.PRE_RESIZE_CAPACITY: "x"}), a_claim("2Gi")),
        {"c": "Bound pv 2Gi BBC DONE"},
    ),
    "a capacity that lags behind the volume's is kept": Row(
        (
            a_volume(size="2Gi", claim_ref=ref("c", "u"), phase=VolumePhase.BOUND),
            a_claim(volume="pv", annotations=DONE, phase=ClaimPhase.BOUND, has="1Gi"),
        ),
        {"c": PRESET},
    ),
}

OTHERS: dict[str, Row] = {
    "a volume without a class comes before the default class": Row(
        (a_volume(), a_claim(), a_class(default=True)), {"c": BOUND}
    ),
    "a class that is not there: no volume is made": Row(
        (a_claim(storage_class_name="gold"),), {"c": "Pending"}, (no_class("gold"),)
    ),
    "a class of an unknown plugin: no volume is made": Row(
        (a_claim(storage_class_name="gold"), a_class(provisioner="kubernetes.io/unknown")),
        {"c": "Pending"},
        (
            (
                "Warning",
                "ProvisioningFailed",
                "no volume plugin matched name: kubernetes.io/unknown",
            ),
        ),
    ),
    "a class of volumes made by hand: no volume is made": Row(
        (a_claim(storage_class_name="gold"), a_class(provisioner="kubernetes.io/no-provisioner")),
        {"c": "Pending"},
        (
            (
                "Warning",
                "ProvisioningFailed",
                "no volume plugin matched name: kubernetes.io/no-provisioner",
            ),
        ),
    ),
    "a class of a plugin that makes no volumes: no volume is made": Row(
        (a_claim(storage_class_name="gold"), a_class(provisioner="kubernetes.io/nfs")),
        {"c": "Pending"},
        (("Warning", "ProvisioningFailed", "no provisionable volume plugin matched"),),
    ),
    "a class with a binding mode nobody knows: neither bound nor made": Row(
        (
            gold(),
            a_claim(storage_class_name="gold", annotations={Annotation.SELECTED_NODE: "n1"}),
            a_class(volume_binding_mode=BindingMode("AtFullMoon")),
        ),
        {"pv": "Available", "c": "Pending"},
        (
            (
                "Warning",
                "FailedBinding",
                'StorageClass "gold" has an unknown volumeBindingMode "AtFullMoon"',
            ),
        ),
    ),
    "a class with a binding mode nobody knows: a reserved volume is bound": Row(
        (
            gold(claim_ref=ref("c")),
            a_claim(storage_class_name="gold"),
            a_class(volume_binding_mode=BindingMode("AtFullMoon")),
        ),
        {"pv": "Bound ref=c/u", "c": BOUND},
    ),
    "access modes nobody knows are names: they match themselves": Row(
        (
            a_volume("other", "1Gi", AccessMode("Twice")),
            a_volume("pv", "1Gi", AccessMode("Thrice")),
            a_claim("1Gi", AccessMode("Thrice")),
        ),
        {"pv": "Bound ref=c/u BBC", "c": BOUND, "other": "Available"},
    ),
    "a volume mode nobody knows is neither of ours": Row(
        (a_volume(volume_mode=VolumeMode("Tape")), a_claim()), {"c": "Pending"}, (FAILED_BINDING,)
    ),
    "a claim in a phase nobody knows, never bound": Row(
        (a_claim(phase=ClaimPhase("Dreaming")),), {"c": "Pending"}, (FAILED_BINDING,)
    ),
    "a class of a plugin that makes volumes: one is made": Row(
        (a_claim(storage_class_name="gold"), a_class(provisioner="kubernetes.io/host-path")),
        {"pvc-u": "Bound ref=c/u BBC", "c": "Bound pvc-u 1Gi BBC DONE"},
        do=Do.SETTLE,
    ),
}

TABLE = SEARCH | DELAYED | PRESET_VOLUME | BOUND_BEFORE | OTHERS


@pytest.mark.parametrize("row", TABLE.values(), ids=TABLE)
def test_scenario(row: Row) -> None:
    made = world(*row.given, unscheduled=row.unscheduled)
    if row.do is Do.LOOK:
        made.pass_claim(C)
    else:
        made.settle()
    told = {name: tell_volume(volume) for name, volume in made.volumes.items()}
    told["c"] = tell_claim(made.claims[C])
    assert {name: told[name] for name in row.then} == row.then
    assert tuple(made.events) == row.events


def test_an_impossible_binding_is_an_error() -> None:
    row = PRESET_VOLUME[IMPOSSIBLE]
    made = world(*row.given)
    made.pass_claim(C)
    assert made.failures == [
        'invalid binding of claim "ns/c" to volume "pv": volume already claimed by "ns/d"'
    ]


def test_the_attributes_class_is_shown_in_the_status_once_bound() -> None:
    claim = a_claim(volume="pv", volume_attributes_class_name="gold")
    made = world(with_attributes("pv", "gold"), claim)
    made.pass_claim(C)
    assert made.claims[C].status.current_volume_attributes_class_name == "gold"


def test_a_claim_that_was_lost_does_not_get_its_attributes_class_back() -> None:
    claim = a_claim(volume="pv", annotations=DONE, phase=ClaimPhase.LOST)
    made = world(with_attributes("pv", "gold"), claim)
    made.pass_claim(C)
    assert made.claims[C].status.current_volume_attributes_class_name is None


def test_with_a_node_selected_a_volume_is_made_even_if_a_free_one_is_there() -> None:
    claim = a_claim(storage_class_name="gold", annotations={Annotation.SELECTED_NODE: "n1"})
    made = world(WAITING, gold(), claim)
    made.pass_claim(C)
    assert made.started == [Provision(C, "u", "gold", "d.example.com")]
    assert tell_volume(made.volumes["pv"]) == "Available"


@pytest.mark.parametrize(
    ("claim", "classes", "becomes"),
    [
        pytest.param(a_claim(), [a_class(default=True)], "gold", id="the default class"),
        pytest.param(
            a_claim(),
            [a_class("old", default=True), a_class("new", default=True, created="2026-02-01")],
            "new",
            id="the newest of two default classes",
        ),
        pytest.param(
            a_claim(),
            [a_class("b", default=True), a_class("a", default=True)],
            "a",
            id="the first by name of two equally old default classes",
        ),
        pytest.param(
            a_claim(storage_class_name="copper"),
            [a_class(default=True)],
            "copper",
            id="not when a class was named",
        ),
        pytest.param(
            a_claim(storage_class_name=""),
            [a_class(default=True)],
            "",
            id="not when the empty class was named",
        ),
        pytest.param(
            a_claim(annotations={Annotation.STORAGE_CLASS_BETA: "copper"}),
            [a_class(default=True)],
            None,
            id="not when the old annotation names a class",
        ),
    ],
)
def test_the_default_class_is_given_to_claims_that_named_none(
    claim: Claim, classes: list[StorageClass], becomes: str | None
) -> None:
    made = world(claim, *classes)
    made.pass_claim(C)
    assert made.claims[C].spec.storage_class_name == becomes
    if becomes != claim.spec.storage_class_name:
        assert made.events == []
        assert made.claims[C].status == claim.status
