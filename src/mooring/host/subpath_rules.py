"""The rules for `subPath` and `subPathExpr` of a volumeMount."""

import re
from collections.abc import Mapping

from mooring.errors import HostError

# `$$` stands for `$`; `$(` without an end, and `$` before anything else, for themselves.
_REFERENCE = re.compile(r"\$(?:\$|\(([^)]*)\))")
_LONGEST = 4096  # of a path


def expand(expression: str, environment: Mapping[str, str]) -> str:
    """Replace `$(NAME)` in a `subPathExpr` by the value in the container's environment.

    Raises: HostError that names missing or empty variables, or when the result is too long.
    """
    missing: set[str] = set()
    put_in = 0

    def value(reference: re.Match[str]) -> str:
        name = reference[1]
        if name is None:
            return "$"
        nonlocal put_in
        found = environment.get(name, "")
        put_in += len(found)
        if put_in > _LONGEST:
            raise HostError(f"the path of a subPathExpr is longer than {_LONGEST} characters")
        if not found:
            missing.add(name)
        return found

    expanded = _REFERENCE.sub(value, expression)
    if missing:
        raise HostError(f"missing value for {', '.join(sorted(missing))}")
    return expanded


def check(sub_path: str) -> None:
    """Refuse a path that leaves the volume. Raises: HostError with a text for the user."""
    if sub_path.startswith("/"):
        raise HostError(f"error SubPath `{sub_path}` must not be an absolute path")
    if ".." in sub_path.split("/"):
        raise HostError(f"unable to provision SubPath `{sub_path}`: must not contain '..'")
