"""A storage class, and a CSI driver: is there anybody who makes and mounts its volumes?"""

from datetime import datetime, timedelta

from mooring.controllers.binding.decide.explained import unregistered
from mooring.controllers.binding.view import Plugins
from mooring.model.claim import Claim, ClaimPhase
from mooring.model.csi_driver import CsiDriver
from mooring.model.csi_node import CsiNode
from mooring.model.lease import Lease
from mooring.model.node import Node
from mooring.model.storage_class import StorageClass
from mooring.model.timestamp import to_seconds
from mooring.sidecars.lease_name import (
    lease_of_attacher,
    lease_of_provisioner,
    lease_of_resizer,
    lease_of_snapshotter,
)
from mooring.why.answer import Fix, State, Step
from mooring.why.claim import registered_besides
from mooring.why.claim_fixes import fix_mistyped
from mooring.why.found import Found, kubectl, link, ref
from mooring.why.registrar import explain_missing_everywhere
from mooring.why.world import World


def explain_class(world: World, chosen: StorageClass, now: datetime) -> Found:
    registered = registered_besides(world, chosen.provisioner)
    if registered is not None:
        words = unregistered(chosen.provisioner, registered)
        found = link(Step.CLASS, chosen, State.BROKEN, words, who="an administrator")
        found = found.plus(Found(fixes=tuple(fix_mistyped(chosen, registered))))
    elif not chosen.provisions:
        found = link(Step.CLASS, chosen, State.DONE, "its volumes are made by hand")
    elif chosen.provisioner in Plugins().provision:
        words = f"its provisioner {chosen.provisioner} is built into Mooring's controllers"
        found = link(Step.CLASS, chosen, State.DONE, words)
    else:
        words = f"its provisioner {chosen.provisioner} is registered"
        found = link(Step.CLASS, chosen, State.DONE, words)
    if not chosen.volume_binding_mode.is_known:
        words = f"nobody here knows the volumeBindingMode {chosen.volume_binding_mode}"
        found = found.plus(link(Step.CLASS, chosen, State.BROKEN, words))
    return found.plus(_defaults(world, chosen)).plus(_waiting(world, chosen))


def _defaults(world: World, chosen: StorageClass) -> Found:
    marked = [each.name for each in world.all(StorageClass) if each.is_default]
    if not chosen.is_default or len(marked) < 2:
        return Found()
    words = f"{len(marked)} classes are the default: {', '.join(marked)}; the newest one counts"
    command = kubectl("annotate", ref(chosen), "storageclass.kubernetes.io/is-default-class-")
    fix = Fix(command, f"makes {chosen.name} a default class no more")
    return link(Step.CLASS, chosen, State.WAITING, words).plus(Found(fixes=(fix,)))


def _waiting(world: World, chosen: StorageClass) -> Found:
    pending = [
        claim
        for claim in world.all(Claim)
        if claim.storage_class == chosen.name and claim.status.phase is ClaimPhase.PENDING
    ]
    if not pending:
        return Found()
    names = ", ".join(str(claim.key) for claim in pending[:3])
    more = f" and {len(pending) - 3} more" if len(pending) > 3 else ""
    words = f"claims of this class that have no volume: {names}{more} (mooring why pvc/NAME)"
    return link(Step.CLAIM, pending[0], State.WAITING, words)


def explain_driver(world: World, driver: CsiDriver, now: datetime) -> Found:
    nodes = [each for each in world.all(CsiNode) if each.find_driver(driver.name) is not None]
    total = sum(1 for _ in world.all(Node))
    if not nodes:
        words = "no node has it registered: no CSINode names it"
        if (absent := explain_missing_everywhere(world, driver.name)).links:
            return absent.plus(_sidecars(world, driver, now))
        found = link(Step.DRIVER, driver, State.BROKEN, words, who="whoever runs the driver")
        told = "shows whether pods of the driver run at all"
        find = Fix(f"kubectl get pods -A | grep -i {driver.name.split('.')[0]}", told)
        found = found.plus(Found(fixes=(find,)))
    else:
        words = f"it is registered on {len(nodes)} of {total} nodes"
        found = link(Step.DRIVER, driver, State.DONE, words, source=ref(nodes[0]))
    return found.plus(_sidecars(world, driver, now))


_SIDECARS = {
    "provisioner": lease_of_provisioner,
    "attacher": lease_of_attacher,
    "resizer": lease_of_resizer,
    "snapshotter": lease_of_snapshotter,
}


def _sidecars(world: World, driver: CsiDriver, now: datetime) -> Found:
    found = Found()
    for sidecar, name_of in _SIDECARS.items():
        named = [each for each in world.all(Lease) if each.name == name_of(driver.name)]
        for lease in named:
            found = found.plus(_lease(sidecar, lease, now))
    return found


def _lease(sidecar: str, lease: Lease, now: datetime) -> Found:
    renewed, lasts = lease.spec.renew_time, lease.spec.lease_duration_seconds or 0
    if not lease.is_held or renewed is None:
        return link(Step.DRIVER, lease, State.WAITING, f"nobody holds the lease of its {sidecar}")
    due = datetime.fromisoformat(renewed) + timedelta(seconds=lasts)
    until = to_seconds(due)
    if due < now:
        words = f"its {sidecar} ({lease.spec.holder_identity}) let its lease expire at {until}"
        return link(Step.DRIVER, lease, State.BROKEN, words, since=renewed, who=f"its {sidecar}")
    words = f"its {sidecar} is {lease.spec.holder_identity}"
    return link(Step.DRIVER, lease, State.DONE, words, until=until)
