"""A real cluster in a test: API server, controllers, played nodes and drivers. Start here.

    from mooring.testing import Cluster

    with Cluster() as c:
        c.apply(CLAIM)
        c.wait("pvc/data", "Bound", timeout=5)

`AsyncCluster` is the same for async tests; `mooring.testing.plugin` gives pytest fixtures. What is
named here is public; docs/testing.md is its manual. Nothing is imported before it is used: pytest
imports this package in every run, for its plugin.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mooring.testing.async_cluster import AsyncCluster
    from mooring.testing.cluster import Cluster
    from mooring.testing.errors import ClusterError, NotYet, Refused
    from mooring.testing.kube import Kube

__all__ = ["AsyncCluster", "Cluster", "ClusterError", "Kube", "NotYet", "Refused"]

_HOMES = {
    "AsyncCluster": "async_cluster",
    "Cluster": "cluster",
    "ClusterError": "errors",
    "Kube": "kube",
    "NotYet": "errors",
    "Refused": "errors",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
