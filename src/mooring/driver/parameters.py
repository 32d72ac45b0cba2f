"""The driver's own parameters: those of volumes; snapshots have none."""

from collections.abc import Mapping

from mooring.driver.records import Limits, NoLimits
from mooring.driver.refusal import INVALID, CallRefused
from mooring.driver.settings import KUBERNETES_PREFIX, ThinPool
from mooring.model.quantity import parse

PROVISIONING = "provisioning"
SPARSE = "sparse"
FULL = "full"
UNLIMITED = "max"
LIMITS = {  # the parameter, and the field of `Limits`
    "readBytesPerSecond": "read_bytes",
    "writeBytesPerSecond": "write_bytes",
    "readIOPS": "read_operations",
    "writeIOPS": "write_operations",
}
KNOWN = (PROVISIONING, *LIMITS)
_MOST = 1 << 62


def volume_parameters(
    given: Mapping[str, str],
    mutable: Mapping[str, str] | None = None,
    pool: ThinPool | None = None,
) -> dict[str, str]:
    """A volume's parameters without Kubernetes' own; mutable ones win. Raises: CallRefused.

    Of a thin pool also those of OpenEBS's classes, which name the volume group.
    """
    own = _own({**given, **(mutable or {})})
    if pool is not None:
        own = _without_place(own, pool)
    for name, value in own.items():
        if name not in KNOWN:
            known = ", ".join(KNOWN)
            raise CallRefused(INVALID, f"parameter {name!r} is not known; there are {known}")
        if name == PROVISIONING and value not in (SPARSE, FULL):
            text = f"parameter {PROVISIONING} is {value!r}, and may be {SPARSE} or {FULL}"
            raise CallRefused(INVALID, text)
    limits_of(own)
    return own


def _without_place(given: Mapping[str, str], pool: ThinPool) -> dict[str, str]:
    """Raises: CallRefused when a volume is asked for that this pool cannot have."""
    fixed = {"storage": "lvm", "volgroup": pool.volume_group, "thinProvision": "yes"}
    for name, only in fixed.items():
        if given.get(name, only) != only:
            text = f"parameter {name} is {given[name]!r}, and this driver has {only!r}"
            raise CallRefused(INVALID, text)
    if given.get(PROVISIONING) == FULL:
        text = f"parameter {PROVISIONING}: a thin pool gives blocks out when they are written"
        raise CallRefused(INVALID, text)
    return {name: value for name, value in given.items() if name not in fixed}


def check_snapshot_parameters(given: Mapping[str, str]) -> None:
    """Raises: CallRefused for any parameter of the driver: snapshots have none."""
    for name in _own(given):
        raise CallRefused(INVALID, f"parameter {name!r} is not known; snapshots have none")


def is_allocated(parameters: Mapping[str, str], *, now: bool = False) -> bool:
    """Whether a volume gets all its blocks (`provisioning: full`); `now`: if it is not said."""
    return parameters[PROVISIONING] == FULL if PROVISIONING in parameters else now


def limits_of(parameters: Mapping[str, str], now: Limits = NoLimits) -> Limits:
    """The limits with those of the parameters in place of `now`. Raises: CallRefused."""
    told = {name: getattr(now, name) for name in LIMITS.values()}
    for name, field in LIMITS.items():
        if name in parameters:
            told[field] = _amount(name, parameters[name])
    return Limits(**told)


def _amount(name: str, text: str) -> int:
    """0 for no limit."""
    if text == UNLIMITED:
        return 0
    try:
        amount = parse(text).bytes_ceil()
    except ValueError as error:
        raise CallRefused(INVALID, f"parameter {name} is {text!r}: {error}") from error
    if not 0 < amount < _MOST:
        text = f"parameter {name} is {text!r}, and may be an amount per second or {UNLIMITED}"
        raise CallRefused(INVALID, text)
    return amount


def _own(given: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in given.items() if not name.startswith(KUBERNETES_PREFIX)}
