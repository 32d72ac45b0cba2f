"""Flags of single drivers, as `mooring up --sidecar-flag DRIVER:FLAG=VALUE` has them.

They are called as those of `mooring sidecar`, which are called as upstream's.
"""

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, Final

from msgspec.structs import replace

from mooring.errors import UsageError
from mooring.model.feature_gates import parse_gates
from mooring.model.names import csi_driver_name
from mooring.sidecars.options import SidecarOptions

_TRUE: Final = frozenset({"true", "t", "1"})
_FALSE: Final = frozenset({"false", "f", "0"})

Change = Callable[[SidecarOptions, str], SidecarOptions]


def parse_flags(flags: Iterable[str], default: SidecarOptions) -> Mapping[str, SidecarOptions]:
    """The options of each driver that is named, by its name. Raises: UsageError."""
    found: dict[str, SidecarOptions] = {}
    for flag in flags:
        driver, colon, rest = flag.partition(":")
        name, equals, value = rest.partition("=")
        name = name.removeprefix("--")
        if not driver or not colon or not equals:
            raise UsageError(
                f"--sidecar-flag {flag!r} must be DRIVER:FLAG=VALUE,"
                " as hostpath.csi.k8s.io:strict-topology=true"
            )
        _check_driver(driver, f"--sidecar-flag {flag!r}")
        if name not in FLAGS:
            near = "".join(
                f", did you mean {each}?" for each in get_close_matches(name, FLAGS, n=1)
            )
            known = f"; there are {', '.join(sorted(FLAGS))}"
            raise UsageError(f"--sidecar-flag {flag!r}: there is no flag {name}{near or known}")
        try:
            found[driver] = FLAGS[name](found.get(driver, default), value)
        except ValueError as error:
            raise UsageError(f"--sidecar-flag {flag!r}: {error}") from error
    return found


def checked_drivers(names: Iterable[str]) -> frozenset[str]:
    """The drivers of `--no-sidecars-for`. Raises: UsageError when one is no driver's name."""
    found = frozenset(names)
    for name in sorted(found):
        _check_driver(name, f"--no-sidecars-for {name!r}")
    return found


def _check_driver(name: str, flag: str) -> None:
    if any(csi_driver_name(name)):
        text = f"{flag}: {name!r} is no name of a CSI driver, as hostpath.csi.k8s.io is"
        raise UsageError(text)


def _bool(text: str) -> bool:
    """Raises: ValueError."""
    if text.lower() not in _TRUE | _FALSE:
        raise ValueError(f"{text!r} is neither true nor false")
    return text.lower() in _TRUE


def _seconds(text: str) -> float:
    """With or without a unit, as upstream's flags have one. Raises: ValueError."""
    number, unit = text.rstrip("smh"), text[len(text.rstrip("smh")) :]
    factor = {"": 1, "s": 1, "m": 60, "h": 3600}.get(unit)
    try:
        seconds = float(number) * (factor or 0)
    except ValueError:
        seconds = 0
    if not 0 < seconds < float("inf"):
        raise ValueError(f"{text!r} is no number of seconds, as 30 or 30s")
    return seconds


def _of_provisioner(field: str, read: Callable[[str], Any]) -> Change:
    def change(options: SidecarOptions, text: str) -> SidecarOptions:
        return replace(options, provisioner=replace(options.provisioner, **{field: read(text)}))

    return change


def _of_resizer(field: str, read: Callable[[str], Any]) -> Change:
    def change(options: SidecarOptions, text: str) -> SidecarOptions:
        return replace(options, resizer=replace(options.resizer, **{field: read(text)}))

    return change


def _of_names(field: str, part: str, read: Callable[[str], Any]) -> Change:
    def change(options: SidecarOptions, text: str) -> SidecarOptions:
        names = replace(getattr(options.snapshotter, field), **{part: read(text)})
        return replace(options, snapshotter=replace(options.snapshotter, **{field: names}))

    return change


def _timeout(options: SidecarOptions, text: str) -> SidecarOptions:
    return options.with_timeout(_seconds(text))


def _extra_metadata(options: SidecarOptions, text: str) -> SidecarOptions:
    return options.with_extra_metadata(on=_bool(text))


def _feature_gates(options: SidecarOptions, text: str) -> SidecarOptions:
    return options.with_gates(parse_gates(text))


def _prefix(text: str) -> str:
    if not text:
        raise ValueError("a prefix must not be empty")
    return text


FLAGS: Final[Mapping[str, Change]] = {
    "timeout": _timeout,
    "feature-gates": _feature_gates,
    "extra-create-metadata": _extra_metadata,
    "strict-topology": _of_provisioner("strict_topology", _bool),
    "immediate-topology": _of_provisioner("immediate_topology", _bool),
    "default-fstype": _of_provisioner("default_fs_type", str),
    "controller-publish-readonly": _of_provisioner("controller_publish_readonly", _bool),
    "handle-volume-inuse-error": _of_resizer("handle_in_use", _bool),
    "extra-modify-metadata": _of_resizer("extra_modify_metadata", _bool),
    "snapshot-name-prefix": _of_names("names", "prefix", _prefix),
    "snapshot-name-uuid-length": _of_names("names", "uid_length", int),
    "groupsnapshot-name-prefix": _of_names("group_names", "prefix", _prefix),
    "groupsnapshot-name-uuid-length": _of_names("group_names", "uid_length", int),
}
