"""The files of a container on disk, by which it is found again after a restart.

    <containers>/<id>/record.json   its pod, and how it ended
                      config.json   the bundle's document, for the runtime
                      rootfs        where its root file system is mounted
                      upper, work   what it wrote there
                      exit          its exit code, written by the shim
                      conmon.pid, pid, attach, ctl, winsz   the shim's

A record is replaced atomically, and not flushed: after a power cut there are no containers to find.
"""

import hashlib
import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from mooring.host.refusal import refusals
from mooring.oci.contract import ContainerSpec, Found, Owner, State

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
DIRECTORY = "containers"  # in a node's root
RUN = Path("/run/mooring")  # what need not outlive the machine's next start
RUNTIME = "runtime"  # in a state directory: what the OCI runtime keeps
ID = re.compile(r"[0-9a-f]{64}")


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    exit_code: int
    finished_at: datetime
    is_oom_killed: bool = False
    is_lost: bool = False


class Record(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    owner: Owner
    image_id: str
    notes: Mapping[str, str]
    log_path: str
    created_at: datetime
    boot: str  # in which it was made: no process outlives the kernel
    shares_processes: bool = False  # with others, so that its own do not end with its first one
    has_stdin: bool = False
    has_tty: bool = False
    pid: int = 0  # 0: its making was cut short
    started_at: datetime | None = None  # written before it is started
    ended: Ended | None = None


class ContainerDirectory:
    """The files of one container. `opened` is where others may pass through: see id_mapping.py."""

    def __init__(self, directory: Path, opened: Path | None = None) -> None:
        self.directory = directory
        self.record = directory / "record.json"
        self.config = directory / "config.json"
        self.rootfs = directory / "rootfs"
        self.upper = directory / "upper"
        self.work = directory / "work"
        self.opened = (opened or directory / "open") / directory.name
        self.mapped = self.opened / "mapped"
        self.open_rootfs = self.opened / "rootfs"
        self.exit = directory / "exit"
        self.conmon_pid = directory / "conmon.pid"
        self.pid = directory / "pid"

    def make(self) -> None:
        """Raises: HostError."""
        with refusals(f"mkdir {self.directory}"):
            self.directory.mkdir(mode=0o700, parents=True)
            self.rootfs.mkdir(mode=0o755)

    def write(self, record: Record) -> None:
        _replace(self.record, msgspec.json.encode(record))

    def write_config(self, document: bytes) -> None:
        _replace(self.config, document)

    def read(self) -> Record | None:
        """None when there is none that can be read: its making never got that far."""
        try:
            return msgspec.json.decode(self.record.read_bytes(), type=Record)
        except (OSError, msgspec.DecodeError):
            return None

    def read_exit(self) -> tuple[int, datetime] | None:
        """What the shim wrote when the container ended, and when."""
        try:
            code = int(self.exit.read_text())
            return code, datetime.fromtimestamp(self.exit.stat().st_mtime, UTC)
        except (OSError, ValueError):
            return None

    def read_conmon_pid(self) -> int:
        try:
            return int(self.conmon_pid.read_text())
        except (OSError, ValueError):
            return 0


def new_record(spec: ContainerSpec, created_at: datetime) -> Record:
    return Record(
        id=spec.id,
        owner=spec.owner,
        image_id=spec.image.id if spec.image else "",
        notes=dict(spec.notes),
        log_path=str(spec.log_path),
        created_at=created_at,
        boot=boot_id(),
        shares_processes=spec.share.pid or bool(spec.join_pid_of),
        has_stdin=spec.has_stdin,
        has_tty=spec.has_tty,
    )


def found(record: Record) -> Found:
    """The container as the runtime's callers see it."""
    state = State.RUNNING if record.started_at else State.CREATED
    ended = record.ended
    return Found(
        id=record.id,
        owner=record.owner,
        state=State.EXITED if ended else state,
        created_at=record.created_at,
        log_path=Path(record.log_path),
        image_id=record.image_id,
        notes=record.notes,
        pid=0 if ended else record.pid,
        started_at=record.started_at,
        finished_at=ended.finished_at if ended else None,
        exit_code=ended.exit_code if ended else 0,
        is_oom_killed=ended.is_oom_killed if ended else False,
        is_lost=ended.is_lost if ended else False,
    )


def state_directory(root: Path, run_directory: Path = RUN) -> Path:
    """Where the runtime, and exec sessions, keep the state of the containers of a node's root."""
    real = os.fsencode(os.path.realpath(root))
    return run_directory / hashlib.sha256(real).hexdigest()[:12]


def opened_directory(state: Path) -> Path:
    """Where containers with users of their own are made."""
    return state.with_name(f"{state.name}-open")


def boot_id() -> str:
    with refusals(f"read {BOOT_ID}"):
        return BOOT_ID.read_text().strip()


def _replace(path: Path, content: bytes) -> None:
    fresh = path.with_name(f".{path.name}")
    with refusals(f"write {path}"):
        opened = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(opened, "wb") as file:
            file.write(content)
        fresh.replace(path)
