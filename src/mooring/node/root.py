"""The root directory of a node: one node has it, and containers see what is mounted in it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from mooring import log
from mooring.errors import HostError, UsageError
from mooring.host.contract import MountOps
from mooring.host.directory_lock import DirectoryLock
from mooring.host.mount import Mounts
from mooring.host.mountinfo import MountTable
from mooring.node.root_lock import LOCK
from mooring.oci.host_root import HOST_DIRECTORY, put_away
from mooring.plugins.layout import DIRECTORY_MODE, Layout

_log = log.get("mooring.node")


class NodeRoot(msgspec.Struct, frozen=True):
    layout: Layout
    mounts: MountOps
    cannot: str = ""  # why nothing can be mounted in it; empty: everything can


@contextmanager
def held_root(root_dir: Path) -> Iterator[NodeRoot]:
    """`node_root` on this machine's own mounts.

    After: what is mounted stays, but for what containers see of the host. Raises: UsageError.
    """
    mounts = Mounts()
    with node_root(root_dir, mounts) as root:
        try:
            yield root
        finally:
            _put_away(root.layout.root / HOST_DIRECTORY, mounts)


@contextmanager
def node_root(wanted: Path, mounts: MountOps) -> Iterator[NodeRoot]:
    """The directory `wanted`, made if need be, held while the context is entered.

    Raises: UsageError when it cannot be made, or another node has it.
    """
    root = wanted.resolve()
    _make(root)
    cannot = _share(root, mounts)
    try:
        with _locked(root):
            layout = Layout(root)
            for directory in (layout.pods, layout.plugins, layout.registrations):
                _make(directory)
            yield NodeRoot(layout, mounts, cannot)
    finally:
        _unshare(root, mounts)


def _make(directory: Path) -> None:
    try:
        directory.mkdir(DIRECTORY_MODE, parents=True, exist_ok=True)
    except OSError as error:
        raise _unusable(directory, error) from error


@contextmanager
def _locked(root: Path) -> Iterator[None]:
    """Taken when the root is shared already: a mount with an open file is not unmounted."""
    try:
        lock = DirectoryLock.take(root / LOCK, "--root-dir")
    except OSError as error:
        raise _unusable(root, error) from error
    try:
        yield
    finally:
        lock.release()


def _share(root: Path, mounts: MountOps) -> str:
    """Why it could not be; empty: it is."""
    try:
        mounts.make_shared(root)
    except HostError as error:
        return str(error)
    return ""


def _unshare(root: Path, mounts: MountOps) -> None:
    """Undo it, unless something is mounted in there that must stay, or another node has it."""
    try:
        table = mounts.table()
        if _is_bound_onto_itself(table, root) and len(table.below(root)) == 1:
            mounts.unmount(root)
    except HostError as error:
        _log.debug("a node's root directory stays mounted", path=root, because=error)


def _is_bound_onto_itself(table: MountTable, root: Path) -> bool:
    bound, beneath = table.find(root), table.covering(root.parent)
    if bound is None or beneath is None or bound.device != beneath.device:
        return False
    return Path(bound.root) == Path(beneath.root) / root.relative_to(beneath.mount_point)


def _put_away(directory: Path, mounts: MountOps) -> None:
    """What was mounted for this process alone."""
    try:
        put_away(mounts, directory)
    except HostError as error:
        _log.debug("what containers see of the host stays mounted", path=directory, because=error)


def _unusable(directory: Path, error: OSError) -> UsageError:
    return UsageError(f"a node cannot use {directory}: {error.strerror}")
