"""How long calls took. No label names a snapshot, as upstream's do: there is no end of those."""

from prometheus_client import Histogram

_BUCKETS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0)


def metadata_histogram() -> Histogram:
    return Histogram(
        "snapshot_metadata_controller_operations_seconds",
        "Seconds from the request to the end of its stream.",
        ("method", "grpc_status_code"),
        buckets=_BUCKETS,
        registry=None,
    )
