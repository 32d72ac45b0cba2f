"""ResourceQuotas: which names may be counted."""

import pytest

from mooring.apiserver.kinds.quota import RESOURCE_QUOTA
from mooring.model.document import Doc
from tests.unit.apiserver.kinds.writing import create

_STANDARD = "must be a standard resource type or fully qualified"
_FOR_QUOTAS = "must be a standard resource for quotas"


def a_quota(name: str) -> Doc:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "default"},
        "spec": {"hard": {name: "1"}},
    }


NAMES: dict[str, tuple[str, ...]] = {
    "requests.storage": (),
    "limits.ephemeral-storage": (),
    "services.nodeports": (),
    "requests.hugepages-2Mi": (),
    "count/widgets.example.com": (),
    "fast.storageclass.storage.k8s.io/requests.storage": (),
    "requests.example.com/gpu": (),
    "request.storage": (_STANDARD, _FOR_QUOTAS),
    "pvc": (_STANDARD, _FOR_QUOTAS),
    "storage": (_FOR_QUOTAS,),
}


@pytest.mark.parametrize(("name", "problems"), NAMES.items(), ids=NAMES)
def test_a_name_that_nobody_counts_is_refused(name: str, problems: tuple[str, ...]) -> None:
    wanted = [f'spec.hard[{name}]: Invalid value: "{name}": {problem}' for problem in problems]
    assert create(RESOURCE_QUOTA, a_quota(name)) == wanted
