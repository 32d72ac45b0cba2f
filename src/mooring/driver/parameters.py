"""The driver's own parameters: those of volumes; snapshots have none."""

from collections.abc import Mapping

from mooring.driver.refusal import INVALID, CallRefused
from mooring.driver.settings import KUBERNETES_PREFIX

PROVISIONING = "provisioning"
SPARSE = "sparse"
FULL = "full"


def volume_parameters(
    given: Mapping[str, str], mutable: Mapping[str, str] | None = None
) -> dict[str, str]:
    """A volume's parameters without Kubernetes' own; mutable ones win. Raises: CallRefused."""
    own = _own({**given, **(mutable or {})})
    for name, value in own.items():
        if name != PROVISIONING:
            raise CallRefused(INVALID, f"parameter {name!r} is not known; there is {PROVISIONING}")
        if value not in (SPARSE, FULL):
            text = f"parameter {PROVISIONING} is {value!r}, and may be {SPARSE} or {FULL}"
            raise CallRefused(INVALID, text)
    return own


def check_snapshot_parameters(given: Mapping[str, str]) -> None:
    """Raises: CallRefused for any parameter of the driver: snapshots have none."""
    for name in _own(given):
        raise CallRefused(INVALID, f"parameter {name!r} is not known; snapshots have none")


def is_allocated(parameters: Mapping[str, str]) -> bool:
    """Whether a volume gets all its blocks when it is created (`provisioning: full`)."""
    return parameters.get(PROVISIONING) == FULL


def _own(given: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in given.items() if not name.startswith(KUBERNETES_PREFIX)}
