"""What the explanations are put together from: links, fixes, candidates, and commands to paste."""

import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping

import msgspec

from mooring.model.event import Event
from mooring.model.meta import ApiObject
from mooring.why.answer import CandidateGroup, Fix, Link, Ref, State, Step
from mooring.why.world import World

SHORT = {
    "PersistentVolumeClaim": "pvc",
    "PersistentVolume": "pv",
    "Pod": "pod",
    "Node": "node",
    "StorageClass": "storageclass",
    "VolumeAttachment": "volumeattachment",
    "VolumeSnapshot": "volumesnapshot",
    "VolumeSnapshotContent": "volumesnapshotcontent",
    "VolumeSnapshotClass": "volumesnapshotclass",
    "CSIDriver": "csidriver",
    "ResourceQuota": "resourcequota",
    "DaemonSet": "daemonset",
    "Deployment": "deployment",
}
"""What kubectl calls them."""


class Found(msgspec.Struct, frozen=True):
    links: tuple[Link, ...] = ()
    fixes: tuple[Fix, ...] = ()
    candidates: tuple[CandidateGroup, ...] = ()

    def plus(self, more: "Found") -> "Found":
        return Found(
            (*self.links, *more.links),
            (*self.fixes, *(fix for fix in more.fixes if fix not in self.fixes)),
            (*self.candidates, *more.candidates),
        )

    @property
    def first_trouble(self) -> Link | None:
        """The first link that is not done; a broken one before one that waits."""
        for state in (State.BROKEN, State.WAITING, State.UNKNOWN):
            for link in self.links:
                if link.state is state:
                    return link
        return None


NOTHING = Found()


def ref(it: ApiObject) -> Ref:
    return Ref(it.resource.kind, it.name, it.namespace)


def link(step: Step, about: ApiObject | Ref, state: State, says: str, **more: object) -> Found:
    """One link; its sentence was read from `about`, unless `source` says otherwise."""
    named = about if isinstance(about, Ref) else ref(about)
    given: dict[str, object] = {"source": named, **more}
    return Found((Link(step, named, state, says, **given),))  # type: ignore[arg-type]  # by name


def newest_event(
    world: World, about: ApiObject, reasons: Iterable[str] = (), containing: str = ""
) -> Event | None:
    """The newest event on the object, of these reasons if any are given."""
    wanted = frozenset(reasons)
    fitting = [
        event
        for event in world.once("events", _events_by_name).get(about.name, ())
        if event.involved_object.kind == about.resource.kind
        and event.involved_object.uid in {"", about.uid}
        and (not wanted or event.reason in wanted)
        and containing in event.message
    ]
    return max(fitting, key=lambda event: event.last_seen or "", default=None)


def _events_by_name(world: World) -> Mapping[str, list[Event]]:
    found: defaultdict[str, list[Event]] = defaultdict(list)
    for event in world.all(Event):
        found[event.involved_object.name].append(event)
    return found


def reporter(event: Event) -> str:
    """Who recorded it."""
    return event.reporting_component or event.source.component


def grouped(kind: str, reasons: Mapping[str, Iterable[str]]) -> tuple[CandidateGroup, ...]:
    """Names by reason, the largest group first."""
    groups = [
        CandidateGroup(kind, reason, len(names), names)
        for reason, names in ((reason, tuple(sorted(named))) for reason, named in reasons.items())
    ]
    return tuple(sorted(groups, key=lambda group: (-group.count, group.reason)))


# commands

_PLAIN = re.compile(r"[A-Za-z0-9._][A-Za-z0-9._/-]*")


def is_plain(*texts: str) -> bool:
    """Whether texts that no server has checked (of references, of events) may stand in a command.

    One that is none of a name could end a quoted part, be an option, or a program of sed.
    """
    return all(_PLAIN.fullmatch(text) for text in texts)


def kubectl(verb: str, about: Ref, *rest: str, namespaced: bool = True) -> str:
    """`kubectl VERB KIND NAME -n NAMESPACE REST`, quoted for a shell."""
    words = ["kubectl", *verb.split(), SHORT.get(about.kind, about.kind.lower()), about.name]
    if about.namespace and namespaced:
        words += ["-n", about.namespace]
    return shlex.join([*words, *rest])


def recreated(about: Ref, *edits: str) -> str:
    """Delete it and make it again, with its YAML changed by these sed expressions."""
    changes = "".join(f" -e {shlex.quote(edit)}" for edit in edits)
    changed = f" | sed{changes}" if edits else ""
    return f"{kubectl('get', about, '-o', 'yaml')}{changed} | kubectl replace --force -f -"


def sed_value(key: str, old: str, new: str) -> str:
    """A sed expression that changes `key: old` to `key: new` in YAML, quoted or not."""
    pattern = "".join(f"\\{char}" if char in r".[]*^$/\|" else char for char in old)
    return f's|\\({key}: \\)"\\{{0,1\\}}{pattern}"\\{{0,1\\}}$|\\1{new}|'


def applied(yaml: str) -> str:
    return f"kubectl apply -f - <<'EOF'\n{yaml.strip()}\nEOF"
