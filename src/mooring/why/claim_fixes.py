"""Commands that help a claim without a volume: the nearest first."""

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from mooring.controllers.binding.decide.claim import find_mismatch
from mooring.controllers.binding.decide.match import is_free, selector_of
from mooring.controllers.binding.plan import Plan, Provision
from mooring.controllers.binding.view import ClaimView
from mooring.model import quantity
from mooring.model.claim import Claim, ClaimPhase
from mooring.model.pod import Pod
from mooring.model.quantity import Quantity
from mooring.model.storage_capacity import StorageCapacity
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume, VolumePhase
from mooring.model.wellknown import Annotation
from mooring.why.answer import Fix, Ref
from mooring.why.found import applied, is_plain, kubectl, newest_event, recreated, ref, sed_value
from mooring.why.world import World

_NO_ROOM = re.compile(r"ResourceExhausted|OutOfRange|no space|not enough|too large", re.IGNORECASE)
LIKE = 0.6  # how alike names are of which one may be meant


def fix_unbound(world: World, view: ClaimView, plan: Plan) -> tuple[Fix, ...]:
    return tuple(dict.fromkeys(_fixes(world, view, plan)))


def _fixes(world: World, view: ClaimView, plan: Plan) -> Iterator[Fix]:
    claim = view.claim
    if claim.status.phase is ClaimPhase.LOST or claim.is_bind_completed:
        yield _start_over(claim)
    elif claim.spec.volume_name:
        yield from _preset(world, view)
    elif view.storage_class is not None and view.registered is not None:
        yield from fix_mistyped(view.storage_class, view.registered)
    elif any(isinstance(step, Provision) for step in plan.steps):
        yield from _provisioned(world, view)
    elif view.is_delayed:
        yield from _first_consumer(world, view)
    else:
        yield from _by_hand(world, view)


def _start_over(claim: Claim) -> Fix:
    command = recreated(ref(claim), "/volumeName:/d", "/pv.kubernetes.io\\//d")
    return Fix(
        command, "makes the claim anew, with an empty volume: what was on the old one is lost"
    )


def _preset(world: World, view: ClaimView) -> Iterator[Fix]:
    claim, volume = view.claim, view.volume
    if volume is not None and volume.spec.claim_ref is None and not volume.is_deleting:
        yield from _mismatched(claim, volume)
    elif volume is not None and volume.status.phase is VolumePhase.RELEASED:
        yield _let_go(volume)
    if is_plain(claim.spec.volume_name):
        edit = f"/volumeName: {claim.spec.volume_name}$/d"
        yield Fix(recreated(ref(claim), edit), "makes the claim anew, for any volume that fits")


def _mismatched(claim: Claim, volume: Volume) -> Iterator[Fix]:
    """The claim, changed so that this free volume fits."""
    about = ref(claim)
    why = find_mismatch(claim, volume)
    if why == "requested PV is too small":
        edit = sed_value("storage", str(claim.requested), str(volume.size))
        yield Fix(recreated(about, edit), f"makes the claim anew, for {volume.size}")
    elif why == "storageClassName does not match":
        if volume.storage_class and claim.storage_class:
            edit = sed_value("storageClassName", claim.storage_class, volume.storage_class)
            told = f"makes the claim anew, of class {volume.storage_class}"
            yield Fix(recreated(about, edit), told)
        patch = '{"spec":{"storageClassName":"' + claim.storage_class + '"}}'
        told = f"gives volume {volume.name} the class of the claim"
        yield Fix(kubectl("patch", ref(volume), "-p", patch), told)
    elif why == "incompatible volumeMode":
        edit = sed_value("volumeMode", claim.spec.volume_mode, volume.spec.volume_mode)
        yield Fix(recreated(about, edit), f"makes the claim anew, as {volume.spec.volume_mode}")
    elif why == "incompatible accessMode":
        missing = [mode for mode in claim.spec.access_modes if mode not in volume.spec.access_modes]
        edits = [f"s|- {mode}$|- {volume.spec.access_modes[0]}|" for mode in missing]
        told = f"makes the claim anew, for {volume.spec.access_modes[0]}"
        yield Fix(recreated(about, *edits), told)


def _let_go(volume: Volume) -> Fix:
    patch = '[{"op":"remove","path":"/spec/claimRef"}]'
    command = kubectl("patch", ref(volume), "--type=json", "-p", patch)
    return Fix(command, f"makes volume {volume.name} Available again; its data stays on it")


def fix_mistyped(chosen: StorageClass, registered: frozenset[str]) -> Iterator[Fix]:
    near = get_close_matches(chosen.provisioner, sorted(registered), n=1, cutoff=LIKE)
    names = near or sorted(registered)[:1]
    if names:
        edit = sed_value("provisioner", chosen.provisioner, names[0])
        told = f"makes the class anew, with the provisioner {names[0]}, which is registered"
        yield Fix(recreated(ref(chosen), edit), told)


def _provisioned(world: World, view: ClaimView) -> Iterator[Fix]:
    """A provisioner was asked: where it says that there is no room, less may be had."""
    claim = view.claim
    said = newest_event(world, claim, {"ProvisioningFailed"})
    if said is None or not _NO_ROOM.search(said.message):
        return
    size = max(_room(world, claim), default=quantity.ZERO)
    if not quantity.ZERO < size < claim.requested:
        size = quantity.from_bytes(claim.requested.bytes_ceil() // 2)
    edit = sed_value("storage", str(claim.requested), str(size))
    yield Fix(recreated(ref(claim), edit), f"makes the claim anew, for {size}")


def _room(world: World, claim: Claim) -> Iterator[Quantity]:
    """What the driver says that it could make, where it says so."""
    for each in world.all(StorageCapacity):
        largest = each.largest_volume
        if each.storage_class_name == claim.storage_class and largest is not None:
            yield largest


def _first_consumer(world: World, view: ClaimView) -> Iterator[Fix]:
    if view.unscheduled_pods:
        return  # what they wait for is another link
    claim = view.claim
    spec = (
        '{"spec":{"containers":[{"name":"main","image":"busybox","command":["sleep","3600"],'
        '"volumeMounts":[{"name":"data","mountPath":"/data"}]}],"volumes":[{"name":"data",'
        f'"persistentVolumeClaim":{{"claimName":"{claim.name}"}}}}]}}}}'
    )
    about = Ref(Pod.resource.kind, f"uses-{claim.name}", claim.namespace)
    words = ("--image=busybox", "--restart=Never", f"--overrides={spec}")
    command = kubectl("run", about, *words).replace("kubectl run pod ", "kubectl run ")
    yield Fix(command, "starts a pod that uses the claim; then a volume is chosen for its node")


def _by_hand(world: World, view: ClaimView) -> Iterator[Fix]:
    """No class makes volumes for it."""
    claim = view.claim
    if view.too_small is not None:
        yield from _mismatched(claim, view.too_small)
    classes = [each for each in world.all(StorageClass) if each.provisions]
    names = [each.name for each in classes]
    wanted = claim.storage_class
    near = get_close_matches(wanted, names, n=1, cutoff=LIKE) if wanted else []
    if near and view.storage_class is None:
        edit = sed_value("storageClassName", wanted, near[0])
        yield Fix(recreated(ref(claim), edit), f"makes the claim anew, of class {near[0]}")
    for volume in _closest(world, claim):
        if volume.status.phase is VolumePhase.RELEASED:
            yield _let_go(volume)
        elif not _selects(claim, volume):
            labels = _selected_labels(claim)
            pairs = [f"{key}={value}" for key, value in labels.items()]
            if pairs:
                command = kubectl("label", ref(volume), *pairs, "--overwrite")
                yield Fix(command, f"gives volume {volume.name} the labels that the claim selects")
        else:
            yield from _mismatched(claim, volume)
    if names and not claim.has_class:
        about = Ref(StorageClass.resource.kind, names[0])
        mark = f"{Annotation.DEFAULT_CLASS}=true"
        told = f"makes {names[0]} the default class, which the claim then gets"
        yield Fix(kubectl("annotate", about, mark, "--overwrite"), told)
    elif names and wanted not in names and not near:
        chosen = next((each.name for each in classes if each.is_default), names[0])
        edit = (
            sed_value("storageClassName", wanted, chosen)
            if wanted
            else (f's|storageClassName: ""|storageClassName: {chosen}|')
        )
        yield Fix(recreated(ref(claim), edit), f"makes the claim anew, of class {chosen}")
    yield _new_volume(claim)


def _closest(world: World, claim: Claim) -> Iterator[Volume]:
    """One volume that would do but for one thing: a free one first, then a Released one."""
    free = [volume for volume in world.all(Volume) if is_free(volume)]
    fitting = [volume for volume in free if find_mismatch(claim, volume) is None]
    if fitting:
        yield fitting[0]
        return
    released = [
        volume
        for volume in world.all(Volume)
        if volume.status.phase is VolumePhase.RELEASED and find_mismatch(claim, volume) is None
    ]
    if released:
        yield released[0]
    elif free:
        yield min(free, key=lambda volume: _distance(claim, volume))


def _distance(claim: Claim, volume: Volume) -> tuple[bool, bool, str]:
    why = find_mismatch(claim, volume) or ""
    return why == "incompatible volumeMode", volume.size < claim.requested, volume.name


def _selects(claim: Claim, volume: Volume) -> bool:
    try:
        return selector_of(claim).matches(volume.metadata.labels)
    except ValueError:
        return True


def _selected_labels(claim: Claim) -> Mapping[str, str]:
    selector = claim.spec.selector
    return {} if selector is None else selector.match_labels or {}


def _new_volume(claim: Claim) -> Fix:
    modes = ", ".join(claim.spec.access_modes)
    labels = _selected_labels(claim)
    labelled = "".join(f"\n    {key}: {value!r}" for key, value in labels.items())
    name = f"for-{claim.namespace}-{claim.name}"
    document = f"""
apiVersion: v1
kind: PersistentVolume
metadata:
  name: {name}{f"{chr(10)}  labels:{labelled}" if labelled else ""}
spec:
  capacity: {{storage: {claim.requested}}}
  accessModes: [{modes}]
  volumeMode: {claim.spec.volume_mode}
  storageClassName: "{claim.storage_class}"
  persistentVolumeReclaimPolicy: Retain
  claimRef: {{namespace: {claim.namespace}, name: {claim.name}}}
  hostPath: {{path: /srv/{name}}}
"""
    return Fix(applied(document), "makes a volume by hand, a directory of a node, for this claim")
