"""LVM's commands: one volume group, its thin pool, and thin volumes. Argument vectors, no shell.

Every command has a time limit. One that was stopped may have done its work or not: whoever called
it asks again (`volumes`). LVM locks the group itself, so two commands never mix.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from mooring import processes
from mooring.errors import CommandFailed, HostError, TimedOut
from mooring.host import udev
from mooring.host.command import NOT_FOUND, find_program
from mooring.host.refusal import refusals
from mooring.processes import Program

SECONDS: Final = 120.0  # for one command
_KEPT: Final = 16 << 20  # bytes of a report
_NAME: Final = re.compile(r"[A-Za-z0-9_+.][A-Za-z0-9_+.-]{0,126}")
_WITHOUT_UDEV: Final = ("--config", "activation{udev_sync=0 udev_rules=0}")
_REPORT: Final = ("--reportformat", "json", "--units", "b", "--nosuffix")
_VOLUME_FIELDS: Final = (
    "lv_name,lv_size,lv_tags,pool_lv,origin,segtype,zero,lv_device_open,"
    "data_percent,metadata_percent,lv_health_status"
)
_GROUP_FIELDS: Final = "vg_name,vg_uuid,vg_extent_size"


class Ran(msgspec.Struct, frozen=True):
    """How a command ended, with its two streams."""

    code: int
    output: str
    complaints: str = ""


Run = Callable[[Sequence[str]], Ran]


class Group(msgspec.Struct, frozen=True):
    name: str
    uuid: str
    extent_bytes: int


class LogicalVolume(msgspec.Struct, frozen=True):
    """As `lvs` tells of it. `data_percent` is None while it is not active."""

    name: str
    size_bytes: int
    tags: frozenset[str] = frozenset()
    pool: str = ""  # of a thin volume
    origin: str = ""
    kind: str = ""  # thin, thin-pool, linear, ...
    zeroes: bool = False  # a pool whose new blocks are zeros
    is_open: bool = False
    data_percent: float | None = None
    metadata_percent: float | None = None
    trouble: str = ""  # out_of_data, failed, ...


def is_lvm_name(text: str) -> bool:
    """Whether a volume group or a logical volume can have this name."""
    return _NAME.fullmatch(text) is not None and text not in {".", ".."}


def device_of(group: str, name: str) -> Path:
    """The device of a logical volume, under the name that mounts show."""
    words = (word.replace("-", "--") for word in (group, name))
    return Path("/dev/mapper") / "-".join(words)


class Lvm:
    """The commands on one volume group. Each blocks, and raises HostError."""

    def __init__(self, group: str, run: Run | None = None) -> None:
        self.group = group
        self._run = run or run_lvm

    def describe(self) -> Group:
        """Raises: HostError when there is no such group."""
        rows = self._report("vgs", "vg", _GROUP_FIELDS)
        if len(rows) != 1:
            raise HostError(f"there is no volume group {self.group}")
        return Group(rows[0]["vg_name"], rows[0]["vg_uuid"], int(rows[0]["vg_extent_size"]))

    def volumes(self) -> dict[str, LogicalVolume]:
        """The logical volumes of the group, by name; the hidden ones of pools are left out."""
        rows = self._report("lvs", "lv", _VOLUME_FIELDS)
        return {row["lv_name"]: _volume(row) for row in rows}

    def create_thin(self, name: str, pool: str, size: int, tags: Sequence[str]) -> None:
        """A thin volume of zeros, active. A name that is taken is an error."""
        self._do(
            "lvcreate",
            *("--type", "thin", "--thinpool", pool, "--virtualsize", f"{size}b"),
            *("--wipesignatures", "n", "--name", name, *_tagged(tags), self.group),
        )

    def snapshot(self, origin: str, name: str, tags: Sequence[str]) -> None:
        """A thin snapshot of one moment, not active. File systems on `origin` stand still for it,
        in whatever namespace they are mounted.
        """
        words = ("--snapshot", "--setactivationskip", "y", "--name", name)
        self._do("lvcreate", *words, *_tagged(tags), self._full(origin))

    def extend(self, name: str, size: int) -> None:
        """Repeated: an error, as it has that size already."""
        self._do("lvextend", "--size", f"{size}b", self._full(name))

    def activate(self, name: str) -> None:
        words = ("--activate", "y", "--ignoreactivationskip")
        self._do("lvchange", *words, self._full(name))

    def remove(self, name: str) -> None:
        """Refused by LVM while anything has it open."""
        self._do("lvremove", "--force", self._full(name))

    def _full(self, name: str) -> str:
        return f"{self.group}/{name}"

    def _do(self, command: str, *words: str) -> None:
        settings = () if udev.is_running() else _WITHOUT_UDEV
        self._check((command, "--yes", "--quiet", *settings, *words))

    def _report(self, command: str, kind: str, fields: str) -> list[dict[str, str]]:
        output = self._check((command, *_REPORT, "--options", fields, self.group))
        try:
            told = msgspec.json.decode(output, type=_Report)
            return [row for part in told.report for row in part[kind]]
        except (msgspec.MsgspecError, KeyError) as error:
            raise HostError(f"{command} {self.group}: its report is not understood") from error

    def _check(self, argv: Sequence[str]) -> str:
        ran = self._run(argv)
        if ran.code != 0:
            said = "; ".join(line.strip() for line in ran.complaints.splitlines() if line.strip())
            text = f"{argv[0]} of {argv[-1]} failed: exit status {ran.code}: {said}"
            raise CommandFailed(text, argv=tuple(argv), code=ran.code, output=ran.complaints)
        return ran.output


def run_lvm(argv: Sequence[str]) -> Ran:
    """Run one command of LVM. Raises: HostError; TimedOut when it was stopped."""
    program = find_program(argv[0])
    if program is None:
        text = f"{argv[0]}: executable file not found in $PATH; install lvm2"
        raise CommandFailed(text, argv=tuple(argv), code=NOT_FOUND, output="")
    asked = Program(
        [str(program), *argv[1:]],
        keep=_KEPT,
        seconds=SECONDS,
        env={**os.environ, "LC_ALL": "C", "LVM_SUPPRESS_FD_WARNINGS": "1"},
        is_apart=True,
        may_leave_children=True,
        is_awaited=True,
    )
    with refusals(f"run {program}"):
        done = processes.run(asked)
    complaints = done.complaints.decode(errors="replace")
    if done.is_late:
        text = f"{argv[0]} was stopped: it took longer than {SECONDS:g} s"
        raise TimedOut(text, argv=tuple(argv), code=done.code or 0, output=complaints)
    return Ran(done.code or 0, done.output.decode(errors="replace"), complaints)


class _Report(msgspec.Struct):
    report: list[dict[str, list[dict[str, str]]]]


def _tagged(tags: Sequence[str]) -> list[str]:
    return [word for tag in tags for word in ("--addtag", tag)]


def _volume(row: Mapping[str, str]) -> LogicalVolume:
    return LogicalVolume(
        row["lv_name"],
        int(row["lv_size"]),
        frozenset(filter(None, row["lv_tags"].split(","))),
        row["pool_lv"],
        row["origin"],
        row["segtype"],
        zeroes=row["zero"] in {"1", "zero"},
        is_open=row["lv_device_open"] in {"1", "open"},
        data_percent=_percent(row["data_percent"]),
        metadata_percent=_percent(row["metadata_percent"]),
        trouble=row["lv_health_status"],
    )


def _percent(text: str) -> float | None:
    return float(text) if text else None
