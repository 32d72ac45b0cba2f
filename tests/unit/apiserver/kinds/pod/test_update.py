from typing import Any

import pytest

from mooring.apiserver.kinds.pod.pod import POD
from mooring.model.document import Doc
from tests.unit.apiserver.kinds.pods import a_container, stored
from tests.unit.apiserver.kinds.writing import NO_SUBDOMAIN, merged, update, update_status

ONLY = (
    "spec: Forbidden: pod updates may not change fields other than "
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
POD_A = stored(initContainers=[a_container(name="i")], nodeName="n1")


def with_image(pod: Doc, image: str, field: str = "containers") -> Doc:
    (container,) = pod["spec"][field]
    return {"spec": {field: [{**container, "image": image}]}}


TOLERATION = {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
TOLERANT = stored(tolerations=[TOLERATION])
DEADLINE = stored(activeDeadlineSeconds=60)
FIXED = "existing toleration can not be modified except its tolerationSeconds"

CHANGES: dict[str, tuple[Doc, Doc, list[str]]] = {
    "nothing may change": (POD_A, {}, []),
    "labels may": (POD_A, {"metadata": {"labels": {"a": "b"}}}, []),
    "an image may": (POD_A, with_image(POD_A, "busybox:2"), []),
    "an initial image may": (POD_A, with_image(POD_A, "busybox:2", "initContainers"), []),
    "to a good one": (
        POD_A,
        with_image(POD_A, " busybox"),
        [
            'spec.containers[0].image: Invalid value: " busybox": '
            "must not have leading or trailing whitespace"
        ],
    ),
    "the node may not": (
        POD_A,
        {"spec": {"nodeName": "n2"}},
        [f'{ONLY}\nspec.nodeName: "n1" -> "n2"'],
    ),
    "no container may join": (
        POD_A,
        {"spec": {"containers": [a_container(), a_container(name="d")]}},
        ["spec.containers: Forbidden: pod updates may not add or remove containers"],
    ),
    "none may leave": (
        POD_A,
        {"spec": {"initContainers": None}},
        ["spec.initContainers: Forbidden: pod updates may not add or remove containers"],
    ),
    "a volume may not join": (
        POD_A,
        {"spec": {"volumes": [{"name": "v"}]}},
        [f'{ONLY}\nspec.volumes: null -> [{{"name":"v","emptyDir":{{}}}}]'],
    ),
    "a deadline may be set": (POD_A, {"spec": {"activeDeadlineSeconds": 60}}, []),
    "and drawn nearer": (DEADLINE, {"spec": {"activeDeadlineSeconds": 30}}, []),
    "not put off": (
        DEADLINE,
        {"spec": {"activeDeadlineSeconds": 61}},
        [
            "spec.activeDeadlineSeconds: Invalid value: 61: "
            "must be less than or equal to previous value"
        ],
    ),
    "nor taken away": (
        DEADLINE,
        {"spec": {"activeDeadlineSeconds": None}},
        [
            "spec.activeDeadlineSeconds: Invalid value: null: "
            "must not update from a positive integer to nil value"
        ],
    ),
    "a toleration may join": (
        TOLERANT,
        {"spec": {"tolerations": [{"key": "b", "operator": "Exists"}, TOLERATION]}},
        [],
    ),
    "and last longer": (
        TOLERANT,
        {"spec": {"tolerations": [{**TOLERATION, "tolerationSeconds": 900}]}},
        [],
    ),
    "not leave": (
        TOLERANT,
        {"spec": {"tolerations": []}},
        [f"spec.tolerations: Forbidden: {FIXED}"],
    ),
    "nor change": (
        TOLERANT,
        {"spec": {"tolerations": [{**TOLERATION, "key": "b"}]}},
        [f"spec.tolerations: Forbidden: {FIXED}"],
    ),
    "grace stays": (
        POD_A,
        {"spec": {"terminationGracePeriodSeconds": 1}},
        [f"{ONLY}\nspec.terminationGracePeriodSeconds: 30 -> 1"],
    ),
    "unless it was negative": (
        merged(POD_A, {"spec": {"terminationGracePeriodSeconds": -1}}),
        {"spec": {"terminationGracePeriodSeconds": 1}},
        [],
    ),
    "an empty field is an absent one": (POD_A, {"spec": {"hostname": "", "volumes": []}}, []),
}


@pytest.mark.parametrize(("old", "patch", "expected"), CHANGES.values(), ids=CHANGES)
def test_changes(old: Doc, patch: Doc, expected: list[str]) -> None:
    assert update(POD, old, patch) == expected


def requirement(key: str) -> Doc:
    return {"key": key, "operator": "Exists"}


def affinity(*terms: Doc, **others: Any) -> Doc:
    rules = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return {"nodeAffinity": rules, **others}


GATES = [{"name": "example.com/a"}, {"name": "example.com/b"}]
GATED = stored(schedulingGates=GATES, nodeSelector={"disk": "fast"})
NARROWED = stored(
    schedulingGates=GATES, affinity=affinity({"matchExpressions": [requirement("a")]})
)
TERMS = (
    "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
)
GATED_CHANGES: dict[str, tuple[Doc, Doc, list[str]]] = {
    "a gate may open": (GATED, {"schedulingGates": GATES[1:]}, []),
    "all may": (GATED, {"schedulingGates": []}, []),
    "none may close": (
        POD_A,
        {"schedulingGates": GATES[:1]},
        [
            "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared",
            "spec.schedulingGates[0].name: Forbidden: "
            "only deletion is allowed, but found new scheduling gate 'example.com/a'",
        ],
    ),
    "it may want more of its node": (
        GATED,
        {"nodeSelector": {"disk": "fast", "zone": "a"}},
        [],
    ),
    "not less": (
        GATED,
        {"nodeSelector": {"disk": None, "zone": "a"}},
        [
            'spec.nodeSelector: Invalid value: {"zone":"a"}: '
            "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        ],
    ),
    "it may say for the first time where it wants to be": (
        GATED,
        {"affinity": affinity({"matchExpressions": [requirement("a")]})},
        [],
    ),
    "near whom may not be said so late": (
        GATED,
        {"affinity": {"podAffinity": {"x": 1}}},
        [f'{ONLY}\nspec.affinity.podAffinity: null -> {{"x":1}}'],
    ),
    "a term may be narrowed": (
        NARROWED,
        {"affinity": affinity({"matchExpressions": [requirement("a"), requirement("b")]})},
        [],
    ),
    "not replaced": (
        NARROWED,
        {"affinity": affinity({"matchExpressions": [requirement("b")]})},
        [
            f"{TERMS}[0]: Invalid value: "
            '{"matchExpressions":[{"key":"b","operator":"Exists"}]}: '
            "only additions are allowed (no mutations or deletions)"
        ],
    ),
    "no term may join": (
        NARROWED,
        {"affinity": affinity({"matchExpressions": [requirement("a")]}, {})},
        [
            f"{TERMS}: Invalid value: "
            '[{"matchExpressions":[{"key":"a","operator":"Exists"}]},{}]: '
            "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        ],
    ),
    "the rest is as fixed as ever": (
        GATED,
        {"priority": 5},
        [f"{ONLY}\nspec.priority: null -> 5"],
    ),
    "without gates its node is settled": (
        stored(),
        {"nodeSelector": {"zone": "a"}},
        [f'{ONLY}\nspec.nodeSelector: null -> {{"zone":"a"}}'],
    ),
}


@pytest.mark.parametrize(("old", "patch", "expected"), GATED_CHANGES.values(), ids=GATED_CHANGES)
def test_changes_of_a_pod_that_waits_at_a_gate(old: Doc, patch: Doc, expected: list[str]) -> None:
    assert update(POD, old, {"spec": patch}) == expected


def test_an_empty_term_may_not_be_filled_as_that_would_widen_it() -> None:
    old = stored(schedulingGates=GATES, affinity=affinity({}))
    patch = {"spec": {"affinity": affinity({"matchFields": [requirement("metadata.name")]})}}
    assert any(f"{TERMS}[0]: Invalid value" in complaint for complaint in update(POD, old, patch))


def running(name: str = "c") -> Doc:
    return {"name": name, "state": {"running": {}}}


def ended(code: int, name: str = "c") -> Doc:
    return {"name": name, "state": {"terminated": {"exitCode": code}}}


BACK = "Forbidden: may not be transitioned to non-terminated state"
STATUS: dict[str, tuple[Doc, Doc, list[str]]] = {
    "phases are not looked at": (stored(), {"phase": "Party"}, []),
    "its quality of service stays": (
        stored(),
        {"qosClass": "Guaranteed"},
        ['status.qosClass: Invalid value: "Guaranteed": field is immutable'],
    ),
    "a nominated node has a proper name": (
        stored(),
        {"nominatedNodeName": "Not_A_Name"},
        [f'status.nominatedNodeName: Invalid value: "Not_A_Name": {NO_SUBDOMAIN}'],
    ),
    "a container may end": (
        stored(restartPolicy="Never", status={"containerStatuses": [running()]}),
        {"containerStatuses": [ended(1)]},
        [],
    ),
    "and stays ended": (
        stored(restartPolicy="Never", status={"containerStatuses": [ended(1)]}),
        {"containerStatuses": [running()]},
        [f"status.containerStatuses[0].state: {BACK}"],
    ),
    "unless it is restarted always": (
        stored(status={"containerStatuses": [ended(1)]}),
        {"containerStatuses": [running()]},
        [],
    ),
    "or after failures, which it had": (
        stored(restartPolicy="OnFailure", status={"containerStatuses": [ended(1)]}),
        {"containerStatuses": [running()]},
        [],
    ),
    "or had not": (
        stored(restartPolicy="OnFailure", status={"containerStatuses": [ended(0)]}),
        {"containerStatuses": [running()]},
        [f"status.containerStatuses[0].state: {BACK}"],
    ),
    "so does one that runs first": (
        stored(
            initContainers=[a_container(name="i")],
            restartPolicy="Never",
            status={"initContainerStatuses": [ended(0, "i")]},
        ),
        {"initContainerStatuses": [running("i")]},
        [f"status.initContainerStatuses[0].state: {BACK}"],
    ),
    "a sidecar comes back": (
        stored(
            initContainers=[a_container(name="i", restartPolicy="Always")],
            restartPolicy="Never",
            status={"initContainerStatuses": [ended(0, "i")]},
        ),
        {"initContainerStatuses": [running("i")]},
        [],
    ),
}


@pytest.mark.parametrize(("old", "patch", "expected"), STATUS.values(), ids=STATUS)
def test_status(old: Doc, patch: Doc, expected: list[str]) -> None:
    assert update_status(POD, old, {"status": patch}) == expected
