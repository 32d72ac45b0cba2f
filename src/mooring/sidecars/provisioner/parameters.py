"""The parameters of a class: what they mean to us, and what of them the driver sees."""

from collections.abc import Mapping

from mooring.model.wellknown import Parameter
from mooring.sidecars.provisioner.secret_templates import SECRET_KEYS
from mooring.sidecars.provisioner.waiting_reason import WaitingReason

_KNOWN = frozenset({Parameter.FS_TYPE, *SECRET_KEYS})


def find_fs_type(parameters: Mapping[str, str], default: str) -> str:
    """Empty: the driver chooses. Raises: WaitingReason."""
    found = [
        value
        for key, value in parameters.items()
        if key.lower() == "fstype" or key == Parameter.FS_TYPE
    ]
    if len(found) > 1:
        raise WaitingReason(
            f'fstype specified in parameters with both "fstype" and "{Parameter.FS_TYPE}" keys'
        )
    return (found[0] if found else "") or default


def for_driver(parameters: Mapping[str, str]) -> dict[str, str]:
    """Without the keys that are ours. Raises: WaitingReason for one that only looks like ours."""
    for key in parameters:
        if key.startswith(Parameter.CSI_PREFIX) and key not in _KNOWN:
            raise WaitingReason(
                "failed to strip CSI Parameters of prefixed keys: found unknown parameter key"
                f' "{key}" with reserved namespace {Parameter.CSI_PREFIX}'
            )
    return {
        key: value for key, value in parameters.items() if not key.startswith(Parameter.CSI_PREFIX)
    }
