"""Which health is told of a pod's volumes, and of a driver's storage. Pure.

Invariants: what a driver did not answer changes nothing; a change of wording alone writes nothing;
what is written of one volume or driver leaves the others as they are; a volume that has recovered
keeps an entry without conditions, a driver that has keeps none.
"""

from msgspec.structs import replace

from mooring.model.event import EventType
from mooring.model.health import PodVolumeHealth, StorageCondition, StorageHealth, acceptable, keys
from mooring.model.steps import Emit, plan
from mooring.node.health.plan import Plan, Reason, Step, WritePodHealth, WriteStorageHealth
from mooring.node.health.view import PodView, StorageView

RECOVERED = "The Volume returns to the healthy state"


def decide_pod(view: PodView) -> Plan:
    volumes = {volume.name for volume in view.pod.spec.volumes}
    known = {entry.name: entry for entry in view.known if entry.name in volumes}
    entries = dict(known)
    events: list[Step] = []
    for name in sorted(view.said.keys() & volumes):
        said = acceptable(view.said[name])
        before = known[name].health_conditions if name in known else ()
        if keys(said) == keys(before):
            continue
        entries[name] = PodVolumeHealth(name, said, view.now)
        for one in said:
            if one.key not in keys(before):
                text = f"Volume {name}: {one.message or one.reason}"
                events.append(Emit(view.pod, EventType.WARNING, Reason.ABNORMAL, text))
        if not said:
            text = f"Volume {name}: {RECOVERED}"
            events.append(Emit(view.pod, EventType.NORMAL, Reason.NORMAL, text))
    if entries == known:
        return plan("nothing changed")
    told = tuple(entries[name] for name in sorted(entries))
    return plan("the health of a volume changed", WritePodHealth(view.pod, told), *events)


def decide_storage(view: StorageView) -> Plan:
    stored = view.csi_node.status.storage_health
    before = next((one for one in stored if one.name == view.driver), StorageHealth(view.driver))
    known = {one.key: one for one in before.health_conditions}
    said: dict[tuple[str, str, str, str], StorageCondition] = {}
    for one in view.said:
        since = known[one.key].last_transition_time if one.key in known else view.now
        said.setdefault(one.key, replace(one, last_transition_time=since))
    if said.keys() == known.keys():
        return plan("nothing changed")
    entries = [one for one in stored if one.name != view.driver]
    if said:
        told = tuple(said[key] for key in sorted(said))
        entries.append(StorageHealth(view.driver, told))
    ordered = tuple(sorted(entries, key=lambda one: one.name))
    return plan("the health of its storage changed", WriteStorageHealth(view.csi_node, ordered))
