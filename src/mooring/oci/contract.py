"""What a node asks of a container runtime, so that a fake can stand in.

The real one is `containers.OciContainers`; tests use `tests.fakes.containers.FakeContainers`.
"""

import signal
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Protocol

import msgspec

from mooring.errors import MooringError
from mooring.model.tree_usage import TreeUsage


class RuntimeRefused(MooringError):
    """The runtime could not do it, and nothing is left of the attempt; the text is for people.

    `exit_code` is what a container that never ran is said to have ended with.
    """

    def __init__(self, message: str, *, exit_code: int = 128) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class ImageConfig(msgspec.Struct, frozen=True):
    """What an image says of how to run it."""

    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()  # NAME=value
    user: str = ""  # "", "7", "7:8", "name", "name:group"
    working_dir: str = ""
    stop_signal: str = ""


class StoredImage(msgspec.Struct, frozen=True):
    """An image that is on this machine."""

    id: str  # sha256:... of its configuration, or of its content when it has none
    names: tuple[str, ...]
    layers: tuple[Path, ...]  # directories, the topmost first, as overlay wants them
    config: ImageConfig
    size: int  # bytes on disk
    pulled_names: tuple[str, ...] = ()  # of `names`, those that came from a registry
    digests: tuple[str, ...] = ()  # by which registries know it

    @property
    def is_pulled(self) -> bool:
        """Whether all of it can be had again from registries."""
        return bool(self.names) and self.names == self.pulled_names


class Images(Protocol):
    """The images of this machine: `store.ImageStore`."""

    def find(self, reference: str) -> StoredImage | None:
        """By its id, or by any way of writing its name.

        `busybox` is `docker.io/library/busybox:latest`.
        """
        ...

    def list(self) -> Sequence[StoredImage]: ...


class RunAsUser(msgspec.Struct, frozen=True):
    """The user of a container; names are looked up in its own /etc/passwd and /etc/group."""

    image_user: str = ""  # what the image says; the numbers below win over it
    uid: int | None = None
    gid: int | None = None
    groups: tuple[int, ...] = ()  # on top of those that the image's /etc/group gives the user
    with_image_groups: bool = True
    must_not_be_root: bool = False


class Bind(msgspec.Struct, frozen=True):
    """A directory or file of the host inside the container."""

    source: Path
    target: str  # absolute, in the container
    read_only: bool = False
    recursive_read_only: bool = False
    propagation: str = "private"  # or rslave, rshared
    flags: tuple[str, ...] = ()  # further options of mount(8)


class Device(msgspec.Struct, frozen=True):
    source: Path  # a device, or a link to one
    target: str
    permissions: str = "rwm"


class Limits(msgspec.Struct, frozen=True):
    """None leaves it to the kernel."""

    cpu_shares: int | None = None
    cpu_quota: int | None = None  # microseconds per `cpu_period`
    cpu_period: int = 100_000
    memory: int | None = None  # bytes
    pids: int | None = None


class Privileges(msgspec.Struct, frozen=True):
    is_privileged: bool = False
    may_escalate: bool = True
    add: tuple[str, ...] = ()  # capabilities, without CAP_; "ALL" is all
    drop: tuple[str, ...] = ()
    can_write_root: bool = True


class SeccompKind(Enum):
    UNCONFINED = "Unconfined"
    DEFAULT = "RuntimeDefault"
    LOCALHOST = "Localhost"


class Confinement(msgspec.Struct, frozen=True):
    """What keeps a container apart, beyond what every container has."""

    seccomp: SeccompKind = SeccompKind.UNCONFINED
    seccomp_profile: str = ""  # of LOCALHOST: its path below the directory of profiles
    app_armor: str = ""  # a profile that the kernel has loaded
    sysctls: tuple[tuple[str, str], ...] = ()
    shows_whole_proc: bool = False
    first_host_id: int | None = None  # the container's 0 on the host; None: they are the host's ids


class Share(msgspec.Struct, frozen=True):
    """Which of the host's namespaces a container lives in."""

    network: bool = True
    pid: bool = False
    ipc: bool = False


class Owner(msgspec.Struct, frozen=True):
    """Whose container it is; kept on disk, and found again after a restart."""

    namespace: str
    pod: str
    pod_uid: str
    container: str
    attempt: int  # how many of this name there were before in the pod


class ContainerSpec(msgspec.Struct, frozen=True):
    """A container to be made."""

    id: str  # 64 hexadecimal digits
    owner: Owner
    image: StoredImage | None  # None: on a private overlay of the host's root
    args: tuple[str, ...]
    environment: tuple[str, ...]  # NAME=value
    working_dir: str
    user: RunAsUser
    hostname: str
    log_path: Path
    binds: tuple[Bind, ...] = ()
    devices: tuple[Device, ...] = ()
    limits: Limits = Limits()
    privileges: Privileges = Privileges()
    confinement: Confinement = Confinement()
    share: Share = Share()
    join_pid_of: str = ""  # id of a container whose process namespace is shared
    has_stdin: bool = False
    closes_stdin_after_first: bool = False
    has_tty: bool = False
    notes: Mapping[str, str] = {}  # whatever the caller wants to find again


class State(Enum):
    CREATED = "created"
    RUNNING = "running"
    EXITED = "exited"


class Found(msgspec.Struct, frozen=True):
    """A container as it is now. Times are as precise as the machine's clock."""

    id: str
    owner: Owner
    state: State
    created_at: datetime
    log_path: Path
    image_id: str
    notes: Mapping[str, str]
    pid: int = 0  # of its first process on the host, while it runs
    started_at: datetime | None = None
    finished_at: datetime | None = None
    exit_code: int = 0  # 128 + n for signal n
    is_oom_killed: bool = False
    is_lost: bool = False  # its end was not seen: the shim was killed, or the machine restarted


class Size(msgspec.Struct, frozen=True):
    """Of a terminal."""

    columns: int
    rows: int


class Session(Protocol):
    """A connection to a process in a container, or to the container itself."""

    def output(self) -> AsyncIterator[tuple[int, bytes]]:
        """What comes out, until the end: (1, bytes) is stdout, (2, bytes) stderr."""
        ...

    async def write(self, data: bytes) -> None:
        """Into its standard input. A process that does not read makes this wait; one that has
        ended, or reads no more, makes it do nothing."""
        ...

    async def end_input(self) -> None:
        """Standard input ends. Repeated: nothing."""
        ...

    def resize(self, size: Size) -> None: ...

    async def wait(self) -> int:
        """The exit code: 128 + n for signal n; 126 for a program that cannot run, 127 for none."""
        ...

    async def close(self) -> None:
        """Let go of it: a process that was started by `exec` is killed, a container goes on."""
        ...


class ExecOptions(msgspec.Struct, frozen=True):
    args: tuple[str, ...]
    has_stdin: bool = False
    has_tty: bool = False


class Containers(Protocol):
    """Containers on this machine. They outlive the process that made them."""

    async def create(self, spec: ContainerSpec) -> None:
        """Make a container that does not run yet.

        After: it exists, is recorded on disk, and `find` returns it; its output will go to
        `log_path` in the CRI's log format.
        Raises: RuntimeRefused when nothing is left of it (a missing program, a bad user name).
        Cancelled: `list` may return it; `remove` it.
        """
        ...

    async def start(self, id: str) -> None:
        """Run it. Raises: RuntimeRefused."""
        ...

    async def kill(self, id: str, number: signal.Signals) -> None:
        """Send it a signal; one that has ended does not mind. Raises: RuntimeRefused."""
        ...

    async def remove(self, id: str) -> None:
        """Kill it if need be and take everything of it away but its log.

        Repeated: nothing. Raises: RuntimeRefused, HostError when something is left.
        """
        ...

    def list(self) -> Sequence[Found]:
        """All of them, after a restart too; no file is read for that."""
        ...

    def find(self, id: str) -> Found | None: ...

    def on_change(self, handler: Callable[[Found], None]) -> None:
        """`handler` is called when a container has ended. It must be quick, and must not raise."""
        ...

    async def exec(self, id: str, wish: ExecOptions) -> Session:
        """Start another process in a container that runs. Raises: RuntimeRefused."""
        ...

    async def attach(self, id: str) -> Session:
        """Talk to the container itself. Raises: RuntimeRefused when it does not run."""
        ...

    async def reopen_log(self, id: str) -> None:
        """Write to a new file at `log_path` from now on: the old one has been renamed."""
        ...

    async def written(self, id: str) -> TreeUsage:
        """The space that its own layer takes: what it has written into its root.

        Raises: RuntimeRefused when it does not exist, HostError.
        """
        ...
