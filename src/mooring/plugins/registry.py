"""Finds the plugin of a volume. Every plugin has one line here."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import msgspec

from mooring import log
from mooring.model.kubernetes_version import NEWEST, KubernetesVersion
from mooring.model.names import qualified_name
from mooring.model.volume_use import VolumeUse
from mooring.plugins.cephfs import Cephfs
from mooring.plugins.config_map import ConfigMapPlugin
from mooring.plugins.contract import (
    Attachable,
    BlockMappable,
    DeviceMountable,
    Expandable,
    NodeExpandable,
    Persistent,
    Plugin,
    VolumeError,
)
from mooring.plugins.dead_product import REASONS
from mooring.plugins.downward_api import DownwardApiPlugin
from mooring.plugins.empty_dir import EmptyDir
from mooring.plugins.fc.plugin import Fc
from mooring.plugins.git_repo import GitRepo
from mooring.plugins.glusterfs.mount import Glusterfs
from mooring.plugins.host_path.mount import HostPath
from mooring.plugins.image import Image
from mooring.plugins.iscsi.plugin import Iscsi
from mooring.plugins.local import Local
from mooring.plugins.nfs import Nfs
from mooring.plugins.projected import ProjectedPlugin
from mooring.plugins.quobyte.mount import Quobyte
from mooring.plugins.rbd.plugin import Rbd
from mooring.plugins.secret import SecretPlugin
from mooring.plugins.volume_host import Host

_log = log.get("mooring.plugins")


class NoPluginMatched(VolumeError):
    """No plugin serves such a volume."""


class Found(msgspec.Struct, frozen=True):
    """A plugin has come, or is to be used anew."""

    plugin: Plugin


class Gone(msgspec.Struct, frozen=True):
    name: str


class Probed(msgspec.Struct, frozen=True):
    """What is new; the events hold even when there are errors beside them."""

    events: tuple[Found | Gone, ...] = ()
    errors: tuple[str, ...] = ()


class Prober(Protocol):
    """Finds plugins that come and go while the node runs."""

    def probe(self) -> Probed:
        """The events since the last call, each once; returns at once."""
        ...


class Registry:
    """Built-in plugins, and those that a prober finds.

    A plugin that cannot be registered is left out, with its reason in `errors`.
    """

    def __init__(self, plugins: Iterable[Plugin], prober: Prober | None = None) -> None:
        self._built_in: dict[str, Plugin] = {}
        self._probed: dict[str, Plugin] = {}
        self._prober = prober
        self.errors: tuple[str, ...] = tuple(self._register(plugins))
        self._probe()

    def find(self, use: VolumeUse) -> Plugin:
        """The one plugin that serves `use`.

        Raises: NoPluginMatched; VolumeError when there are several.
        """
        if use.inline is None and use.volume is None:
            raise VolumeError("could not find plugin because volume spec is nil")
        self._probe()
        matching = [plugin for plugin in self._all() if plugin.supports(use)]
        if not matching:
            raise NoPluginMatched(_unmatched(use))
        if len(matching) > 1:
            names = ",".join(plugin.name for plugin in matching)
            raise VolumeError(f"multiple volume plugins matched: {names}")
        return matching[0]

    def find_by_name(self, name: str) -> Plugin:
        """Raises: NoPluginMatched; VolumeError when a probed plugin took the name of another."""
        self._probe()
        matching = [plugin for plugin in self._all() if plugin.name == name]
        if not matching:
            raise NoPluginMatched(f"no volume plugin matched name: {name}")
        if len(matching) > 1:
            names = " and ".join(plugin.name for plugin in matching)
            raise VolumeError(f"multiple volume plugins matched: {names}")
        return matching[0]

    def find_attachable(self, use: VolumeUse) -> Attachable | None:
        """None when such a volume need not be attached. Raises: as `find`."""
        plugin = self.find(use)
        return plugin if isinstance(plugin, Attachable) and plugin.can_attach(use) else None

    def find_attachable_by_name(self, name: str) -> Attachable | None:
        """Whatever it would say of any one volume. Raises: as `find_by_name`."""
        plugin = self.find_by_name(name)
        return plugin if isinstance(plugin, Attachable) else None

    def find_device_mountable(self, use: VolumeUse) -> DeviceMountable | None:
        plugin = self.find(use)
        if isinstance(plugin, DeviceMountable) and plugin.can_mount_device(use):
            return plugin
        return None

    def find_device_mountable_by_name(self, name: str) -> DeviceMountable | None:
        plugin = self.find_by_name(name)
        return plugin if isinstance(plugin, DeviceMountable) else None

    def find_block(self, use: VolumeUse) -> BlockMappable | None:
        plugin = self.find(use)
        return plugin if isinstance(plugin, BlockMappable) else None

    def find_block_by_name(self, name: str) -> BlockMappable | None:
        plugin = self.find_by_name(name)
        return plugin if isinstance(plugin, BlockMappable) else None

    def find_expandable(self, use: VolumeUse) -> Expandable | None:
        """None also when no plugin serves such a volume. Raises: VolumeError when several do."""
        try:
            plugin = self.find(use)
        except NoPluginMatched:
            return None
        return plugin if isinstance(plugin, Expandable) else None

    def find_node_expandable(self, use: VolumeUse) -> NodeExpandable | None:
        plugin = self.find(use)
        return plugin if isinstance(plugin, NodeExpandable) else None

    def get_persistent(self, use: VolumeUse) -> Persistent:
        """Raises: VolumeError when such volumes do not outlive their pods."""
        plugin = self.find(use)
        if not isinstance(plugin, Persistent):
            raise VolumeError("no persistent volume plugin matched")
        return plugin

    def _all(self) -> Iterator[Plugin]:
        yield from self._built_in.values()
        yield from self._probed.values()

    def _register(self, plugins: Iterable[Plugin]) -> Iterator[str]:
        for plugin in plugins:
            if error := _name_error(plugin.name):
                yield error
            elif plugin.name in self._built_in:
                yield f'volume plugin "{plugin.name}" was registered more than once'
            else:
                self._built_in[plugin.name] = plugin

    def _probe(self) -> None:
        if self._prober is None:
            return
        probed = self._prober.probe()
        for text in probed.errors:
            _log.warning("a volume plugin could not be probed", error=text)
        for event in probed.events:
            match event:
                case Gone(name):
                    self._probed.pop(name, None)
                case Found(plugin) if error := _name_error(plugin.name):
                    _log.warning("a probed volume plugin is left out", error=error)
                case Found(plugin):
                    self._probed[plugin.name] = plugin


def built_in(
    host: Host,
    *,
    csi: Plugin | None = None,
    clones_git: bool = False,
    prober: Prober | None = None,
    release: KubernetesVersion = NEWEST,
) -> Registry:
    """Every plugin that comes with Mooring; `csi` where drivers can register.

    `clones_git` is the feature gate `GitRepoVolumeDriver`.
    """
    plugins: Sequence[Plugin] = (
        Cephfs(host),
        ConfigMapPlugin(host),
        DownwardApiPlugin(host),
        EmptyDir(host),
        Fc(host),
        GitRepo(host, is_enabled=clones_git),
        Glusterfs(host),
        HostPath(release),
        Image(),
        Iscsi(host),
        Local(host),
        Nfs(host),
        ProjectedPlugin(host),
        Quobyte(host),
        Rbd(host),
        SecretPlugin(host),
        *(() if csi is None else (csi,)),
    )
    return Registry(plugins, prober)


def _unmatched(use: VolumeUse) -> str:
    """In the words of Kubernetes; and why, where that will stay so."""
    field = use.source[0] if use.source is not None else ""
    reason = REASONS.get(field, "")
    return f"no volume plugin matched: {reason}" if reason else "no volume plugin matched"


def _name_error(name: str) -> str:
    problems = ";".join(qualified_name(name))
    return f'volume plugin has invalid name: "{name}": {problems}' if problems else ""
