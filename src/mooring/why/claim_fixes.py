"""Commands that help a claim without a volume: the nearest first."""

import re
import shlex
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
from mooring.model.stateful_set import StatefulSet
from mooring.model.storage_capacity import StorageCapacity
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume, VolumePhase
from mooring.model.wellknown import Annotation
from mooring.why.answer import Fix, Ref
from mooring.why.found import applied, is_plain, kubectl, newest_event, recreated, ref, sed_value
from mooring.why.refusal import code_of, fix_of_class, fix_refused, is_no_room
from mooring.why.world import World

_LEAST = re.compile(
    r"(?:at least|minimum\D{0,20}|smaller than) ?(\d+(?:[KMGTPE]i?)?)\b", re.IGNORECASE
)
LIKE = 0.6  # how alike names are of which one may be meant


def fix_unbound(world: World, view: ClaimView, plan: Plan) -> tuple[Fix, ...]:
    return tuple(dict.fromkeys(_fixes(world, view, plan)))


def _fixes(world: World, view: ClaimView, plan: Plan) -> Iterator[Fix]:
    claim = view.claim
    if claim.status.phase is ClaimPhase.LOST or claim.is_bind_completed:
        yield _start_over(world, claim)
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


def _start_over(world: World, claim: Claim) -> Fix:
    command = _anew(world, claim, "/volumeName:/d", "/pv.kubernetes.io\\//d")
    return Fix(
        command, "makes the claim anew, with an empty volume: what was on the old one is lost"
    )


def _anew(world: World, claim: Claim, *edits: str) -> str:
    """Of a stateful set's claim the template is changed too, or the set makes the old one again."""
    owner = next((each for each in world.all(StatefulSet) if _makes(each, claim)), None)
    if owner is None or not edits:
        return recreated(ref(claim), *edits)
    about, changed = ref(owner), f"{owner.name}.yaml"
    changes = " ".join(f"-e {shlex.quote(edit)}" for edit in edits)
    steps = (
        f"{kubectl('get', about, '-o', 'yaml')} | sed {changes} > {changed}",
        kubectl("delete", about),
        kubectl("delete", ref(claim)),
        f"kubectl replace --force -f {changed}",
    )
    return " && ".join(steps)


def _makes(owner: StatefulSet, claim: Claim) -> bool:
    names = (
        (template.get("metadata") or {}).get("name", "")
        for template in owner.spec.volume_claim_templates
    )
    stems = {f"{name}-{owner.name}-" for name in names}
    return owner.namespace == claim.namespace and any(
        claim.name.startswith(stem) and claim.name.removeprefix(stem).isdigit() for stem in stems
    )


def _preset(world: World, view: ClaimView) -> Iterator[Fix]:
    claim, volume = view.claim, view.volume
    if volume is not None and volume.spec.claim_ref is None and not volume.is_deleting:
        yield from _mismatched(world, claim, volume)
    elif volume is not None and volume.status.phase is VolumePhase.RELEASED:
        yield _let_go(volume)
    if is_plain(claim.spec.volume_name):
        edit = f"/volumeName: {claim.spec.volume_name}$/d"
        yield Fix(_anew(world, claim, edit), "makes the claim anew, for any volume that fits")


def _mismatched(world: World, claim: Claim, volume: Volume) -> Iterator[Fix]:
    """The claim, changed so that this free volume fits."""
    why = find_mismatch(claim, volume)
    if why == "requested PV is too small":
        edit = sed_value("storage", str(claim.requested), str(volume.size))
        yield Fix(_anew(world, claim, edit), f"makes the claim anew, for {volume.size}")
    elif why == "storageClassName does not match":
        if volume.storage_class and claim.storage_class:
            edit = sed_value("storageClassName", claim.storage_class, volume.storage_class)
            told = f"makes the claim anew, of class {volume.storage_class}"
            yield Fix(_anew(world, claim, edit), told)
        patch = '{"spec":{"storageClassName":"' + claim.storage_class + '"}}'
        told = f"gives volume {volume.name} the class of the claim"
        yield Fix(kubectl("patch", ref(volume), "-p", patch), told)
    elif why == "incompatible volumeMode":
        edit = sed_value("volumeMode", claim.spec.volume_mode, volume.spec.volume_mode)
        yield Fix(_anew(world, claim, edit), f"makes the claim anew, as {volume.spec.volume_mode}")
    elif why == "incompatible accessMode":
        missing = [mode for mode in claim.spec.access_modes if mode not in volume.spec.access_modes]
        edits = [f"s|- {mode}$|- {volume.spec.access_modes[0]}|" for mode in missing]
        told = f"makes the claim anew, for {volume.spec.access_modes[0]}"
        yield Fix(_anew(world, claim, *edits), told)


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
    """A provisioner was asked, and said why not: what of that can be recognised."""
    claim, chosen = view.claim, view.storage_class
    said = newest_event(world, claim, {"ProvisioningFailed"})
    if said is None:
        return
    yield from fix_of_class(world, chosen, said.message)
    yield from fix_refused("" if chosen is None else chosen.provisioner, said.message)
    if code_of(said.message) == "AlreadyExists":
        told = "makes the claim anew; its volume is then asked for under another name"
        yield Fix(_anew(world, claim), told)
    if is_no_room(said.message):
        yield from _other_size(world, claim, said.message)


def _other_size(world: World, claim: Claim, message: str) -> Iterator[Fix]:
    """The least that the driver makes, or what it has room for; unknown: half of what is asked."""
    if least := _LEAST.search(message):
        edit = sed_value("storage", str(claim.requested), least[1])
        yield Fix(_anew(world, claim, edit), f"makes the claim anew, for {least[1]}")
        return
    size = max(room_for(world, claim), default=quantity.ZERO)
    if not quantity.ZERO < size < claim.requested:
        size = quantity.from_bytes(claim.requested.bytes_ceil() // 2)
    edit = sed_value("storage", str(claim.requested), str(size))
    yield Fix(_anew(world, claim, edit), f"makes the claim anew, for {size}")


def room_for(world: World, claim: Claim) -> Iterator[Quantity]:
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
        yield from _mismatched(world, claim, view.too_small)
    classes = [each for each in world.all(StorageClass) if each.provisions]
    names = [each.name for each in classes]
    wanted = claim.storage_class
    near = get_close_matches(wanted, names, n=1, cutoff=LIKE) if wanted else []
    if near and view.storage_class is None:
        edit = sed_value("storageClassName", wanted, near[0])
        yield Fix(_anew(world, claim, edit), f"makes the claim anew, of class {near[0]}")
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
            yield from _mismatched(world, claim, volume)
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
        yield Fix(_anew(world, claim, edit), f"makes the claim anew, of class {chosen}")
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
