"""A real cluster in a test: API server, controllers, played nodes and drivers. Start here.

    from mooring.testing import Cluster

    with Cluster() as c:
        c.apply(CLAIM)
        c.wait("pvc/data", "Bound", timeout=5)

`AsyncCluster` is the same for async tests; `mooring.testing.plugin` gives pytest fixtures. What is
named here is public; docs/testing.md is its manual.
"""

from mooring.testing.async_cluster import AsyncCluster
from mooring.testing.cluster import Cluster
from mooring.testing.errors import ClusterError, NotYet, Refused

__all__ = ["AsyncCluster", "Cluster", "ClusterError", "NotYet", "Refused"]
