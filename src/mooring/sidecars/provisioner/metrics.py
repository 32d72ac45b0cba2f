"""What provisioners count, under the names that dashboards for external-provisioner know."""

from collections.abc import Iterator

from prometheus_client import Counter, Histogram, Metric
from prometheus_client.registry import Collector

from mooring.model.claim import Claim
from mooring.model.volume import Volume

_CLAIM, _VOLUME = "controller_persistentvolumeclaim_provision", "controller_persistentvolume_delete"


class ProvisionerMetrics(Collector):
    """One for all drivers of a process."""

    def __init__(self) -> None:
        by_claim, by_volume = ["class", "source"], ["class"]
        self._provisioned = Counter(
            _CLAIM, "Volumes provisioned for claims.", by_claim, registry=None
        )
        self._failed = Counter(
            f"{_CLAIM}_failed", "Tries to provision that failed.", by_claim, registry=None
        )
        self._took = Histogram(
            f"{_CLAIM}_duration_seconds", "Seconds to provision.", by_claim, registry=None
        )
        self._deleted = Counter(_VOLUME, "Volumes deleted.", by_volume, registry=None)
        self._not_deleted = Counter(
            f"{_VOLUME}_failed", "Tries to delete that failed.", by_volume, registry=None
        )
        self._delete_took = Histogram(
            f"{_VOLUME}_duration_seconds", "Seconds to delete.", by_volume, registry=None
        )

    def provisioned(self, claim: Claim, seconds: float) -> None:
        labels = _labels(claim)
        self._provisioned.labels(*labels).inc()
        self._took.labels(*labels).observe(seconds)

    def not_provisioned(self, claim: Claim) -> None:
        self._failed.labels(*_labels(claim)).inc()

    def deleted(self, volume: Volume, seconds: float) -> None:
        self._deleted.labels(volume.storage_class).inc()
        self._delete_took.labels(volume.storage_class).observe(seconds)

    def not_deleted(self, volume: Volume) -> None:
        self._not_deleted.labels(volume.storage_class).inc()

    def collect(self) -> Iterator[Metric]:
        for part in (self._provisioned, self._failed, self._took):
            yield from part.collect()
        for part in (self._deleted, self._not_deleted, self._delete_took):
            yield from part.collect()


def _labels(claim: Claim) -> tuple[str, str]:
    source = claim.spec.data_source
    return claim.storage_class, source.kind if source else ""
