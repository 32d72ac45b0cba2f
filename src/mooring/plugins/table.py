"""`docs/plugins.md`: a row per volume source, by what the registry holds and by the facts."""

from collections.abc import Iterable, Iterator
from importlib.util import find_spec

from mooring.model.csi_migration import DRIVERS
from mooring.model.csi_translation.registry import BY_PLUGIN
from mooring.model.storage_terms import AccessMode
from mooring.plugins.contract import (
    Attachable,
    BlockMappable,
    DeviceMountable,
    Expandable,
    NodeExpandable,
    Persistent,
    Plugin,
    WithAttachLimits,
)
from mooring.plugins.facts import API_TESTS, FACTS, Fact, HowTested
from mooring.plugins.registry import NoPluginMatched, Registry

HEAD = """# Volume plugins

Written by `make plugins-doc` from the registry of plugins and from `plugins/facts.py`; a unit test
keeps it true. Paths of tests are those of the repository. What becomes of a volume whose source is
"not served": the pod waits, and its event says `no volume plugin matched` and the reason.

In-tree sources of clouds are served by CSI migration: the volume stays as it is written, and
everybody takes it for one of the driver. [csi.md](csi.md#in-tree-volumes-csi-migration) shows it.

| source | plugin | served by | capabilities | access modes | tested | by | upstream |
|---|---|---|---|---|---|---|---|
"""

_PROTOCOLS = (
    (Attachable, "attach"),
    (DeviceMountable, "device mount"),
    (BlockMappable, "block"),
    (Expandable, "controller growth"),
    (NodeExpandable, "node growth"),
    (WithAttachLimits, "attach limits"),
)
_SHORT = {
    AccessMode.ONCE: "RWO",
    AccessMode.READ_ONLY_MANY: "ROX",
    AccessMode.MANY: "RWX",
    AccessMode.ONCE_POD: "RWOP",
}


def render(registry: Registry) -> str:
    """The whole page."""
    return HEAD + "".join(f"| {' | '.join(cells)} |\n" for cells in rows(registry))


def rows(registry: Registry) -> Iterator[tuple[str, ...]]:
    for fact in FACTS:
        plugin = find_plugin(registry, fact)
        yield (
            f"`{fact.source}`",
            f"`{fact.plugin}`" if fact.plugin else _of_none(fact),
            served_by(fact, plugin),
            ", ".join(_capabilities(fact, plugin)),
            _modes(fact, plugin),
            *_tested(fact, plugin),
            fact.upstream,
        )


def _tested(fact: Fact, plugin: Plugin | None) -> tuple[str, str]:
    """Of a plugin that is not here yet, only what the API says of its source."""
    is_here = is_served(fact, plugin) or fact.plugin in BY_PLUGIN or is_indirect(fact)
    how, by = (fact.tested, fact.tests) if is_here else (HowTested.API, API_TESTS)
    return str(how), f"`{by}`"


def is_indirect(fact: Fact) -> bool:
    """Whether another volume, with a source of its own, is behind it."""
    return not fact.plugin and not fact.module


def find_plugin(registry: Registry, fact: Fact) -> Plugin | None:
    try:
        return registry.find_by_name(fact.plugin) if fact.plugin else None
    except NoPluginMatched:
        return None


def _of_none(fact: Fact) -> str:
    return "that of its volume" if is_indirect(fact) else "`<vendor>/<driver>`"


def is_served(fact: Fact, plugin: Plugin | None) -> bool:
    return plugin is not None or fact.plugin in DRIVERS or _is_probed(fact)


def served_by(fact: Fact, plugin: Plugin | None) -> str:
    """A plugin of Mooring's own comes first, else CSI migration."""
    if fact.plugin in DRIVERS:
        return f"CSI migration: `{DRIVERS[fact.plugin]}`"
    if plugin is not None:
        return "own plugin"
    if _is_probed(fact):
        return "own plugin, drivers found at run time"
    return fact.instead


def _is_probed(fact: Fact) -> bool:
    package = fact.module.rpartition(".")[0]
    return bool(package and find_spec(package) and find_spec(fact.module))


def _capabilities(fact: Fact, plugin: Plugin | None) -> Iterable[str]:
    if fact.plugin in DRIVERS:
        return ("those of its driver",)
    if plugin is None and not _is_probed(fact):
        return (
            ("those of its volume",)
            if fact.instead and "not served" not in fact.instead
            else ("none",)
        )
    found = [word for protocol, word in _PROTOCOLS if isinstance(plugin, protocol)]
    if plugin is not None and plugin.takes_mount_options:
        found.append("mount options")
    if _is_probed(fact):
        found.append("those of its driver")
    return ("mount", *found, *((fact.controller,) if fact.controller else ()))


def _modes(fact: Fact, plugin: Plugin | None) -> str:
    if isinstance(plugin, Persistent):
        return ", ".join(_SHORT[mode] for mode in plugin.access_modes)
    return fact.modes
