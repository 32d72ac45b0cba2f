"""Whether a history of reads and guarded writes of registers is linearizable.

Each version of a register has a revision, and says which version it replaced; so the order of the
versions is known, and what is left to check is that it agrees with the order in which callers saw
things happen. A write whose outcome nobody knows may have happened, once, or not.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

import msgspec


class Write(msgspec.Struct, frozen=True):
    """A guarded write of `value` over the version `expected`; revision 0: the outcome is unknown.

    `number` is that of the version: one more than that of the replaced one.
    """

    register: str
    began: float
    ended: float
    expected: int
    number: int
    value: str
    revision: int = 0


class Read(msgspec.Struct, frozen=True):
    register: str
    began: float
    ended: float
    revision: int
    number: int
    value: str


Operation = Write | Read


class Version(msgspec.Struct, frozen=True, order=True):
    revision: int
    number: int
    value: str


def flaws(history: Sequence[Operation]) -> list[str]:
    """What contradicts linearizability; empty: nothing."""
    by_register: defaultdict[str, list[Operation]] = defaultdict(list)
    for operation in history:
        by_register[operation.register].append(operation)
    return [
        f"{register}: {flaw}"
        for register, operations in sorted(by_register.items())
        for flaw in _flaws(operations)
    ]


def _flaws(operations: list[Operation]) -> Iterable[str]:
    versions = sorted({Version(o.revision, o.number, o.value) for o in operations if o.revision})
    yield from _flaws_of_versions(versions)
    yield from _unwritten(operations, versions)
    yield from _lost_guards(operations, versions)
    yield from _out_of_time(operations)


def _flaws_of_versions(versions: list[Version]) -> Iterable[str]:
    for before, after in pairwise(versions):
        if before.revision == after.revision or before.number >= after.number:
            yield f"two versions contradict each other: {before}, {after}"


def _unwritten(operations: list[Operation], versions: list[Version]) -> Iterable[str]:
    """Each version is that of one write; a known write is at its revision and nowhere else."""
    written = {(o.number, o.value): o for o in operations if isinstance(o, Write)}
    for version in versions:
        write = written.get((version.number, version.value))
        if write is None:
            yield f"nobody wrote {version}"
        elif write.revision and write.revision != version.revision:
            yield f"one write is at two revisions: {write}, {version}"


def _lost_guards(operations: list[Operation], versions: list[Version]) -> Iterable[str]:
    """Between a write and the version that it replaced there is no other."""
    revisions = [version.revision for version in versions]
    for operation in operations:
        if isinstance(operation, Write) and operation.revision:
            first = bisect_right(revisions, operation.expected)
            for version in versions[first : bisect_left(revisions, operation.revision)]:
                yield f"{operation} replaced {version} unseen"


def _out_of_time(operations: list[Operation]) -> Iterable[str]:
    """What ended before another began saw no newer version than that one."""
    known = [operation for operation in operations if operation.revision]
    ends = sorted(known, key=lambda operation: operation.ended)
    newest: Operation | None = None
    position = 0
    for operation in sorted(known, key=lambda operation: operation.began):
        while position < len(ends) and ends[position].ended < operation.began:
            if newest is None or ends[position].revision > newest.revision:
                newest = ends[position]
            position += 1
        if newest is not None and operation.revision < newest.revision:
            yield f"{operation} is older than {newest}"
        is_late = newest is not None and newest.revision == operation.revision
        if is_late and isinstance(operation, Write):
            yield f"{operation} was seen before it began: {newest}"
