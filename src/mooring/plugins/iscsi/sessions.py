"""Logging in to a target and out of it, by iscsiadm: the same commands as the kubelet's."""

from collections.abc import Mapping
from typing import Final, Protocol

from mooring import log
from mooring.errors import HostError
from mooring.host import command
from mooring.host.command import Finished
from mooring.plugins.contract import VolumeError
from mooring.plugins.iscsi.chap import DISCOVERY, SESSION, Chap, ChapRecords
from mooring.plugins.iscsi.disk import IscsiDisk

_log = log.get("mooring.plugins.iscsi")

COMMAND_SECONDS = 100.0  # open-iscsi gives up a login after 120 by itself
TCP: Final = "tcp"
LOGGED_IN = 15  # exit code: there is such a session, or such an iface, already
NO_SESSION = 2
NO_RECORD = 21
_UNSET = "<empty>"


class Iscsiadm(Protocol):
    def __call__(self, *words: str) -> Finished:
        """Run it to its end. Raises: HostError when it cannot be run, or takes too long."""
        ...


def iscsiadm(*words: str) -> Finished:
    return command.run(("iscsiadm", *words), seconds=COMMAND_SECONDS)


class Sessions:
    """All of it blocks. Raises: VolumeError when iscsiadm refuses, HostError."""

    def __init__(self, run: Iscsiadm, records: ChapRecords) -> None:
        self._run = run
        self._records = records

    def prepare(self, disk: IscsiDisk) -> str:
        """Make the disk's own iface if it needs one; returns the transport."""
        shown = self._run("-m", "iface", "-I", disk.init_iface, "-o", "show")
        if shown.code:
            raise VolumeError(f"iscsi: could not read iface {disk.init_iface}: {_told(shown)}")
        settings = _settings(shown.output)
        if disk.initiator_name:
            self._clone(disk, settings)
        return settings.get("iface.transport_name", TCP)

    def log_in(self, disk: IscsiDisk, portal: str, chap: Chap) -> None:
        self._discover(disk, portal, chap)
        node = ("-m", "node", "-p", portal, "-T", disk.iqn, "-I", disk.iface)
        self._try(*node, "-o", "update", "-n", "node.session.scan", "-v", "manual")
        if chap.session:
            method = ("-n", f"{SESSION}.authmethod", "-v", "CHAP")
            self._need("failed to update iscsi node", *node, "-o", "update", *method)
            self._records.session(portal, disk.iqn, disk.iface, chap.session)
        ended = self._run(*node, "--login")
        if ended.code not in (0, LOGGED_IN):
            self._try(*node, "-o", "delete")
            raise VolumeError(f"failed to attach disk: Error: {_told(ended)}")
        self._try(*node, "-o", "update", "-n", "node.startup", "-v", "manual")

    def log_out(self, disk: IscsiDisk, portal: str) -> None:
        """No session, and no record of one, is a success."""
        node = ("-m", "node", "-p", portal, "-T", disk.iqn)
        for words in (("--logout", "-I", disk.iface), ("-o", "delete", "-I", disk.iface)):
            ended = self._run(*node, *words)
            if ended.code not in (0, NO_SESSION, NO_RECORD):
                raise VolumeError(f"iscsi: failed to detach disk: {_told(ended)}")

    def remove_iface(self, disk: IscsiDisk) -> None:
        if disk.has_own_iface:
            self._try("-m", "iface", "-I", disk.iface, "-o", "delete")

    def _discover(self, disk: IscsiDisk, portal: str, chap: Chap) -> None:
        asked = ("-m", "discoverydb", "-t", "sendtargets", "-p", portal)
        self._need(
            "iscsi: failed to create discovery record", *asked, "-I", disk.iface, "-o", "new"
        )
        if chap.discovery:
            method = ("-n", f"{DISCOVERY}.authmethod", "-v", "CHAP")
            self._need("failed to update discoverydb with CHAP", *asked, "-o", "update", *method)
            self._records.discovery(portal, chap.discovery)
        ended = self._run(*asked, "-I", disk.iface, "--discover")
        if ended.code:
            self._try(*asked, "-I", disk.iface, "-o", "delete")
            text = f"iscsi: failed to sendtargets to portal {portal} output: {_told(ended)}"
            raise VolumeError(text)

    def _clone(self, disk: IscsiDisk, settings: Mapping[str, str]) -> None:
        wanted = {**settings, "iface.initiatorname": disk.initiator_name}
        iface = ("-m", "iface", "-I", disk.iface)
        made = self._run(*iface, "-o", "new")
        if made.code not in (0, LOGGED_IN):
            raise VolumeError(f"iscsi: failed to create new iface: {_told(made)}")
        for key in sorted(wanted):
            ended = self._run(*iface, "-o", "update", "-n", key, "-v", wanted[key])
            if ended.code:
                self._try(*iface, "-o", "delete")
                text = f"iscsi: failed to update iface records: {_told(ended)}. {disk.iface}"
                raise VolumeError(text)

    def _need(self, what: str, *words: str) -> None:
        ended = self._run(*words)
        if ended.code:
            raise VolumeError(f"{what}: {_told(ended)}")

    def _try(self, *words: str) -> None:
        """Without it things go on."""
        try:
            ended = self._run(*words)
        except HostError as error:
            _log.warning("iscsiadm failed", arguments=" ".join(words), error=error)
            return
        if ended.code:
            _log.warning("iscsiadm failed", arguments=" ".join(words), output=_told(ended))


def _settings(shown: str) -> dict[str, str]:
    """The settings of an iface that are set, but its name."""
    found = {}
    for line in shown.splitlines():
        key, equals, value = line.partition(" = ")
        if equals and key.startswith("iface.") and value.strip() != _UNSET:
            found[key.strip()] = value.strip()
    found.pop("iface.iscsi_ifacename", None)
    return found


def _told(ended: Finished) -> str:
    return f"{ended.output.strip()} ({ended.status})"
