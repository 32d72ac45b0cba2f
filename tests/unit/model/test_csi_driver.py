"""CSIDrivers as controllers and nodes read them."""

from typing import Any

from mooring.model.csi_driver import CsiDriver, CsiDriverSpec, FsGroupPolicy, TokenRequest
from tests.unit.model.reading import read

DOCUMENT: dict[str, Any] = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "CSIDriver",
    "metadata": {"name": "secrets.csi.example.com"},
    "spec": {
        "attachRequired": False,
        "podInfoOnMount": True,
        "volumeLifecycleModes": ["Persistent", "Ephemeral"],
        "storageCapacity": True,
        "fsGroupPolicy": "None",
        "tokenRequests": [{"audience": "vault", "expirationSeconds": 600}],
        "requiresRepublish": True,
        "seLinuxMount": True,
        "nodeAllocatableUpdatePeriodSeconds": 60,
        "serviceAccountTokenInSecrets": True,
    },
}


def test_a_driver_that_says_everything() -> None:
    driver = read(DOCUMENT, CsiDriver)
    assert driver.serves_inline_volumes
    spec = driver.spec
    assert not spec.attach_required
    assert spec.pod_info_on_mount
    assert spec.storage_capacity
    assert spec.fs_group_policy is FsGroupPolicy.NONE
    assert spec.token_requests == (TokenRequest("vault", 600),)
    assert spec.requires_republish
    assert spec.se_linux_mount
    assert spec.node_allocatable_update_period_seconds == 60
    assert spec.service_account_token_in_secrets


def test_a_silent_driver_has_the_defaults_of_the_api() -> None:
    driver = read(DOCUMENT | {"spec": {}}, CsiDriver)
    assert driver.spec == CsiDriverSpec()
    assert driver.spec.attach_required
    assert driver.spec.fs_group_policy is FsGroupPolicy.BY_ACCESS_AND_FS_TYPE
    assert not driver.serves_inline_volumes
