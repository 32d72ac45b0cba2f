"""From the summaries of nodes to the rows that are shown, the fullest first: pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum

import msgspec

from mooring.top.summary import Filled, Summary, SummaryVolume


class Subject(StrEnum):
    PVC = "pvc"
    POD = "pod"
    NODE = "node"


class Row(msgspec.Struct, frozen=True, rename="camel"):
    """One line; every field is always written. Unknown figures are null."""

    name: str
    namespace: str = ""
    nodes: tuple[str, ...] = ()
    pods: tuple[str, ...] = ()  # that use the claim, as namespace/name; all of the node
    volumes: int = 1  # how many volumes the figures are the sum of
    used_bytes: int | None = None
    capacity_bytes: int | None = None
    inodes_used: int | None = None
    inodes: int | None = None
    measured_at: str | None = None  # RFC 3339

    @property
    def share(self) -> float | None:
        """Of the capacity that is used, from 0 to 1; None when it is not known."""
        return _share(self.used_bytes, self.capacity_bytes)

    @property
    def inode_share(self) -> float | None:
        return _share(self.inodes_used, self.inodes)


def rows_of(
    subject: Subject, summaries: Mapping[str, Summary], namespace: str = ""
) -> Sequence[Row]:
    """`summaries` are by the name of the node; an empty `namespace` means all of them."""
    made = _BY_SUBJECT[subject](summaries, namespace)
    return sorted(made, key=_fullest_first)


def _fullest_first(row: Row) -> tuple[float, str, str]:
    share = row.share
    return (1.0 if share is None else -share, row.namespace, row.name)


def _claims(summaries: Mapping[str, Summary], namespace: str) -> Iterable[Row]:
    """A claim that several pods use is measured several times, and is one row."""
    found: dict[tuple[str, str], Row] = {}
    for node, pod, volume in _volumes(summaries):
        claim = volume.claim
        if claim is None or (namespace and claim.namespace != namespace):
            continue
        key = (claim.namespace, claim.name)
        known = found.get(key)
        if known is None:
            found[key] = _row(claim.name, claim.namespace, volume, nodes=(node,), pods=(pod,))
        else:
            nodes = tuple(dict.fromkeys((*known.nodes, node)))
            pods = tuple(dict.fromkeys((*known.pods, pod)))
            found[key] = msgspec.structs.replace(known, nodes=nodes, pods=pods)
    return found.values()


def _pods(summaries: Mapping[str, Summary], namespace: str) -> Iterable[Row]:
    """The sum of a pod's claims. Others (emptyDir, tokens) have the size of the node's own file
    system or memory, which would make every sum look empty."""
    for node, summary in summaries.items():
        for pod in summary.pods or ():
            name = pod.pod
            claims = [volume for volume in pod.volumes or () if volume.claim is not None]
            if claims and namespace in ("", name.namespace):
                row = _row(name.name, name.namespace, _sum(claims), nodes=(node,))
                yield msgspec.structs.replace(row, volumes=len(claims))


def _nodes(summaries: Mapping[str, Summary], namespace: str) -> Iterable[Row]:
    """The sum of the claims that are mounted there, each once."""
    for node, summary in summaries.items():
        claims = list(_claims({node: summary}, namespace))
        pods = tuple(dict.fromkeys(pod for claim in claims for pod in claim.pods))
        yield Row(
            name=node,
            nodes=(node,),
            pods=pods,
            volumes=len(claims),
            used_bytes=_total(claim.used_bytes for claim in claims),
            capacity_bytes=_total(claim.capacity_bytes for claim in claims),
            inodes_used=_total(claim.inodes_used for claim in claims),
            inodes=_total(claim.inodes for claim in claims),
            measured_at=min((c.measured_at for c in claims if c.measured_at), default=None),
        )


_BY_SUBJECT: Mapping[Subject, Callable[[Mapping[str, Summary], str], Iterable[Row]]] = {
    Subject.PVC: _claims,
    Subject.POD: _pods,
    Subject.NODE: _nodes,
}


def _volumes(summaries: Mapping[str, Summary]) -> Iterable[tuple[str, str, SummaryVolume]]:
    for node, summary in summaries.items():
        for pod in summary.pods or ():
            for volume in pod.volumes or ():
                yield node, f"{pod.pod.namespace}/{pod.pod.name}", volume


def _row(
    name: str,
    namespace: str,
    filled: Filled,
    *,
    nodes: tuple[str, ...],
    pods: tuple[str, ...] = (),
) -> Row:
    return Row(
        name=name,
        namespace=namespace,
        nodes=nodes,
        pods=pods,
        used_bytes=filled.used_bytes,
        capacity_bytes=filled.capacity_bytes,
        inodes_used=filled.inodes_used,
        inodes=filled.inodes,
        measured_at=filled.time if isinstance(filled, SummaryVolume) else None,
    )


def _sum(volumes: Sequence[SummaryVolume]) -> Filled:
    return Filled(
        used_bytes=_total(volume.used_bytes for volume in volumes),
        capacity_bytes=_total(volume.capacity_bytes for volume in volumes),
        inodes_used=_total(volume.inodes_used for volume in volumes),
        inodes=_total(volume.inodes for volume in volumes),
    )


def _total(values: Iterable[int | None]) -> int | None:
    """None when nothing is known."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _share(used: int | None, capacity: int | None) -> float | None:
    if used is None or not capacity or capacity < 0:
        return None
    return min(1.0, max(0.0, used / capacity))
