"""How long calls to drivers took, under the names that dashboards for Kubernetes know."""

from prometheus_client import Histogram

from mooring.csi.channel import Observation, Observer

OF_NODE = "csi_operations_seconds"
OF_SIDECAR = "csi_sidecar_operations_seconds"
UNKNOWN_DRIVER = "unknown-driver"
"""The driver's name before it was asked."""

_BOUNDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 15.0, 25.0, 50.0, 120.0, 300.0, 600.0)


def calls_histogram(name: str) -> Histogram:
    """One per role, whatever number of drivers it talks to; registered by that role."""
    return Histogram(
        name,
        "Container Storage Interface operation duration with gRPC error code status total",
        ["driver_name", "method_name", "grpc_status_code", "migrated"],
        buckets=_BOUNDS,
        registry=None,
    )


def observing(histogram: Histogram, driver: str = UNKNOWN_DRIVER) -> Observer:
    """For `Connection(observer=...)`."""

    def observe(call: Observation) -> None:
        histogram.labels(driver, call.method, call.code, "false").observe(call.seconds)

    return observe
