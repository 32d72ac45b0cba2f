"""The release of Kubernetes that is followed: `--kubernetes-version`.

Code asks a release for what it does, by name, never for its number: what parts two releases is read
here. Fields of the API carry the release that brought them in `apiserver/schema`.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from mooring.errors import UsageError


class KubernetesVersion(msgspec.Struct, frozen=True):
    """A release, and what it does that another one does not. All of it is off in the oldest."""

    minor: int

    # what the API server answers
    serves_newer_kinds: bool = False  # words, columns, defaults: `apiserver/kinds/older.py`
    calls_patches_invalid: bool = False  # that cannot be read
    names_refusing_authorizer: bool = False  # "node: ..."
    compresses_watch_lists: bool = False  # for clients that ask so
    checks_bound_nodes: bool = False  # by the form of their names

    # what controllers, scheduler and node do
    marks_unused_claims: bool = False  # the condition Unused
    scores_capacity: bool = False  # room for a pod's volumes counts when nodes are compared
    waits_for_detach: bool = False  # says so, and not "Multi-Attach error"
    tells_found_type: bool = False  # of a hostPath that is of another type
    counts_storage_in_decimals: bool = False  # a node's, in its capacity as in its allocatable
    limits_storage_of_sidecars: bool = False  # each by its own limit of ephemeral storage
    tells_of_victims: bool = False  # where a pod is to take the place of others
    checks_drivers: bool = False  # no pod where its driver is missing, if the driver says so

    @property
    def major(self) -> int:
        return 1

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


V1_35: Final = KubernetesVersion(35)
V1_37: Final = KubernetesVersion(
    37,
    serves_newer_kinds=True,
    calls_patches_invalid=True,
    names_refusing_authorizer=True,
    compresses_watch_lists=True,
    checks_bound_nodes=True,
    marks_unused_claims=True,
    scores_capacity=True,
    tells_of_victims=True,
    checks_drivers=True,
    waits_for_detach=True,
    tells_found_type=True,
    counts_storage_in_decimals=True,
    limits_storage_of_sidecars=True,
)

NEWEST: Final = V1_37
VERSIONS: Final[Mapping[str, KubernetesVersion]] = {str(one): one for one in (V1_35, V1_37)}


def parse_version(text: str) -> KubernetesVersion:
    """Of `1.37`, also `v1.37` and `1.37.2`. Raises: UsageError."""
    wanted = ".".join(text.strip().removeprefix("v").split(".")[:2])
    if wanted not in VERSIONS:
        raise UsageError(f"--kubernetes-version: {text!r} must be one of {', '.join(VERSIONS)}")
    return VERSIONS[wanted]


def parse_followed(text: str) -> KubernetesVersion | None:
    """What a role is told to follow; nothing: the release of its server. Raises: UsageError."""
    return parse_version(text) if text else None


def nearest_version(minor: int) -> KubernetesVersion:
    """For a server of release 1.<minor>: the newest that is no newer, else the oldest."""
    known = sorted(VERSIONS.values(), key=lambda one: one.minor)
    return next((one for one in reversed(known) if one.minor <= minor), known[0])
