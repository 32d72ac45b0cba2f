"""The guides of `docs` on `mooring up` with its bundled driver, typed as they stand there."""

from collections.abc import Iterator

import pytest

from mooring.driver.objects import CLASS
from tests.clients.csi import server_with_driver
from tests.clients.guides import type_all
from tests.clients.kubectl import Kubectl
from tests.clients.nodes import ServerWithNode
from tests.clients.pods import WITHIN


@pytest.fixture(scope="module")
def server(needs_runtime: None) -> Iterator[ServerWithNode]:
    with server_with_driver() as running:
        yield running


def test_a_stateful_set_with_snapshots_of_its_claims(kubectl: Kubectl) -> None:
    kubectl("wait", "--for=create", f"sc/{CLASS}", WITHIN)

    type_all("statefulset-snapshots.md", kubectl)

    left = kubectl("get", "pods,pvc,volumesnapshots,statefulsets,services", "-o", "name")
    assert left == "", f"left by the guide: {left}"
