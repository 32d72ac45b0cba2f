"""ResourceQuotas: which names may be counted, and in which scopes."""

import pytest

from mooring.apiserver.kinds.quota import RESOURCE_QUOTA
from mooring.model.document import Doc
from tests.unit.apiserver.kinds.writing import create

_STANDARD = "must be a standard resource type or fully qualified"
_FOR_QUOTAS = "must be a standard resource for quota"


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


def in_scope(name: str, **expression: object) -> Doc:
    return {"matchExpressions": [{"scopeName": name, "operator": "Exists", **expression}]}


_EXISTS = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "
    "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, "
    "ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)
_PATH = "spec.scopeSelector.matchExpressions"
SCOPES: dict[str, tuple[str, Doc, tuple[str, ...]]] = {
    "a scope of pods": ("pods", {"scopes": ["Terminating", "BestEffort"]}, ()),
    "names that Kubernetes does not define": (
        "count/widgets.example.com",
        {"scopes": ["Terminating"]},
        (),
    ),
    "a scope that there is not": (
        "pods",
        {"scopes": ["Fridays"]},
        ('spec.scopes: Invalid value: ["Fridays"]: unsupported scope',),
    ),
    "best effort has no amounts": (
        "requests.cpu",
        {"scopes": ["BestEffort"]},
        ('spec.scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource',),
    ),
    "both of two": (
        "pods",
        {"scopes": ["BestEffort", "NotBestEffort"]},
        ('spec.scopes: Invalid value: ["BestEffort","NotBestEffort"]: conflicting scopes',),
    ),
    "classes by expression": (
        "requests.storage",
        {"scopeSelector": in_scope("VolumeAttributesClass", operator="NotIn", values=["gold"])},
        (),
    ),
    "a class without a name": (
        "pods",
        {"scopeSelector": in_scope("PriorityClass", operator="In")},
        (
            f"{_PATH}.values: Required value: must be at least one value when `operator` is 'In' "
            "or 'NotIn' for scope selector",
        ),
    ),
    "a name too many": (
        "pods",
        {"scopeSelector": in_scope("PriorityClass", values=["high"])},
        (
            f'{_PATH}.values: Invalid value: ["high"]: must be no value when `operator` is '
            "'Exist' or 'DoesNotExist' for scope selector",
        ),
    ),
    "terminating or not": (
        "pods",
        {"scopeSelector": in_scope("Terminating", operator="DoesNotExist")},
        (f'{_PATH}.operator: Invalid value: "DoesNotExist": {_EXISTS}',),
    ),
    "storage of pods": (
        "requests.storage",
        {"scopeSelector": in_scope("Terminating")},
        (
            f'{_PATH}: Invalid value: {{"MatchExpressions":[{{"ScopeName":"Terminating",'
            '"Operator":"Exists","Values":null}]}: unsupported scope applied to resource',
        ),
    ),
}


@pytest.mark.parametrize(("name", "spec", "problems"), SCOPES.values(), ids=SCOPES)
def test_scopes(name: str, spec: Doc, problems: tuple[str, ...]) -> None:
    quota = a_quota(name)
    quota["spec"] |= spec
    assert tuple(create(RESOURCE_QUOTA, quota)) == problems


def test_things_are_counted_whole() -> None:
    quota = a_quota("pods")
    quota["spec"]["hard"]["pods"] = "1500m"
    assert create(RESOURCE_QUOTA, quota) == [
        'spec.hard[pods]: Invalid value: "1500m": must be an integer'
    ]
