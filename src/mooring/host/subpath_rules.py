"""What a container may write as `subPath` and `subPathExpr`."""

import re
from collections.abc import Mapping

from mooring.errors import HostError

# `$$` stands for `$`; `$(` without an end, and `$` before anything else, for themselves.
_REFERENCE = re.compile(r"\$(?:\$|\(([^)]*)\))")


def expand(expression: str, environment: Mapping[str, str]) -> str:
    """Put values of the container's environment for `$(NAME)` in a `subPathExpr`.

    Raises: HostError that names the variables which are missing or empty.
    """
    missing: set[str] = set()

    def value(reference: re.Match[str]) -> str:
        name = reference[1]
        if name is None:
            return "$"
        found = environment.get(name, "")
        if not found:
            missing.add(name)
        return found

    expanded = _REFERENCE.sub(value, expression)
    if missing:
        raise HostError(f"missing value for {', '.join(sorted(missing))}")
    return expanded


def check(sub_path: str) -> None:
    """Refuse what could not be inside the volume. Raises: HostError, for the user to read."""
    if sub_path.startswith("/"):
        raise HostError(f"error SubPath `{sub_path}` must not be an absolute path")
    if ".." in sub_path.split("/"):
        raise HostError(f"unable to provision SubPath `{sub_path}`: must not contain '..'")
