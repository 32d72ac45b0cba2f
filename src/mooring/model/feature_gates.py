"""Feature gates, by the names that Kubernetes has for them; all are off unless said otherwise."""

from difflib import get_close_matches
from typing import Final

import msgspec

from mooring.errors import UsageError

CROSS_NAMESPACE: Final = "CrossNamespaceVolumeDataSource"

_WORDS = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}


class FeatureGates(msgspec.Struct, frozen=True):
    cross_namespace: bool = False  # claims filled from snapshots and claims of other namespaces


def parse_gates(text: str) -> FeatureGates:
    """Of `Name=true,Other=false`. Raises: UsageError."""
    is_on = False
    for part in filter(None, (one.strip() for one in text.split(","))):
        name, equals, word = part.partition("=")
        if name != CROSS_NAMESPACE:
            near = get_close_matches(name, (CROSS_NAMESPACE,), n=1)
            hint = f"did you mean {near[0]}?" if near else f"there is {CROSS_NAMESPACE}"
            raise UsageError(f"--feature-gates: there is no gate {name!r}; {hint}")
        if not equals or word.lower() not in _WORDS:
            raise UsageError(f"--feature-gates: {part!r} must be {name}=true or {name}=false")
        is_on = _WORDS[word.lower()]
    return FeatureGates(is_on)
