"""The protocol of upstream's populators: a prime claim's volume is handed over when it is full."""

from tests.fakes.objects import CLAIMS, CLASSES, VOLUMES, a_claim, a_class, a_volume
from tests.scenarios.binding.cluster import Cluster

SOURCE = {"apiGroup": "example.com", "kind": "Book", "name": "moby-dick"}


async def test_a_prime_claims_volume_is_handed_over_without_a_warning(cluster: Cluster) -> None:
    await cluster.create(CLASSES, a_class("slow"))
    async with cluster.binder():
        wanted = await cluster.create(
            CLAIMS, a_claim("data", storageClassName="slow", dataSourceRef=SOURCE)
        )
        uid = wanted["metadata"]["uid"]
        prime = await cluster.create(CLAIMS, a_claim(f"prime-{uid}", storageClassName="slow"))
        ref = {"namespace": "default", "name": f"prime-{uid}", "uid": prime["metadata"]["uid"]}
        csi = {"driver": "d.example.com", "volumeHandle": "h"}
        volume = a_volume("pvc-prime", claimRef=ref, storageClassName="slow", csi=csi)
        volume["spec"]["persistentVolumeReclaimPolicy"] = "Delete"
        await cluster.create(VOLUMES, volume)
        await cluster.passes(5)
        assert await cluster.claim(f"prime-{uid}") == "Bound pvc-prime 5Gi"
        assert await cluster.claim() == "Pending"

        # the populator has filled it: a patch of claimRef with the uid and version of the claim
        handed = {"namespace": "default", "name": "data", "uid": uid}
        handed["resourceVersion"] = wanted["metadata"]["resourceVersion"]
        notes = {"annotations": {"example.com/populated-from": "default/moby-dick"}}
        await cluster.patch(VOLUMES, "pvc-prime", {"spec": {"claimRef": handed}, "metadata": notes})
        await cluster.passes(5)
        assert await cluster.claim() == "Bound pvc-prime 5Gi"
        assert await cluster.claim(f"prime-{uid}") == "Lost pvc-prime"
        assert await cluster.told("ClaimMisbound", "ClaimLost") == []
        assert await cluster.told("VolumeHandedOver") == [
            (
                "Normal",
                "VolumeHandedOver",
                "The volume was populated, and handed over to claim default/data",
            )
        ]

        await cluster.delete(CLAIMS, f"prime-{uid}")
        await cluster.passes(60)
        assert await cluster.find(CLAIMS, f"prime-{uid}") is None
        assert await cluster.claim() == "Bound pvc-prime 5Gi"
        assert await cluster.volume("pvc-prime") == "Bound ref=data+"
