import pytest

from mooring.apiserver.kinds.csi_driver import CSI_DRIVER, CSI_DRIVER_WITHOUT_OPT_IN
from mooring.model.document import Doc
from tests.unit.apiserver.kinds.writing import (
    BEFORE,
    create,
    created,
    merged,
    printed,
    update,
    updated,
    warned,
)


def a_driver(**spec: object) -> Doc:
    return {
        "kind": "CSIDriver",
        "apiVersion": "storage.k8s.io/v1",
        "metadata": {"name": "hostpath.csi.k8s.io", "creationTimestamp": BEFORE},
        "spec": spec,
    }


def tokens(*requests: Doc) -> Doc:
    return {"spec": {"tokenRequests": list(requests)}}


def test_a_driver_that_says_nothing() -> None:
    assert created(CSI_DRIVER, a_driver())["spec"] == {
        "attachRequired": True,
        "podInfoOnMount": False,
        "storageCapacity": False,
        "fsGroupPolicy": "ReadWriteOnceWithFSType",
        "volumeLifecycleModes": ["Persistent"],
        "requiresRepublish": False,
        "seLinuxMount": False,
        "preventPodSchedulingIfMissing": False,
    }


def test_whether_a_driver_must_be_there_is_not_said_before_1_37() -> None:
    spec = created(CSI_DRIVER_WITHOUT_OPT_IN, a_driver())["spec"]
    assert "preventPodSchedulingIfMissing" not in spec


def test_a_token_request_has_an_audience_be_it_empty() -> None:
    new = created(CSI_DRIVER, merged(a_driver(), tokens({"expirationSeconds": 600})))
    assert new["spec"]["tokenRequests"] == [{"expirationSeconds": 600, "audience": ""}]


CREATED: dict[str, tuple[Doc, list[str]]] = {
    "a driver is fine": ({}, []),
    "an unknown group policy is named": (
        {"spec": {"fsGroupPolicy": "Some"}},
        [
            'spec.fsGroupPolicy: Unsupported value: "Some": '
            'supported values: "File", "None", "ReadWriteOnceWithFSType"'
        ],
    ),
    "both ways of life are fine": (
        {"spec": {"volumeLifecycleModes": ["Persistent", "Ephemeral"]}},
        [],
    ),
    "an unknown way of life is named": (
        {"spec": {"volumeLifecycleModes": ["Eternal"]}},
        [
            'spec.volumeLifecycleModes: Unsupported value: "Eternal": '
            'supported values: "Persistent", "Ephemeral"'
        ],
    ),
    "audiences differ": (
        tokens({"audience": "a"}, {"audience": "b"}, {"audience": "a"}),
        ['spec.tokenRequests[2].audience: Duplicate value: "a"'],
    ),
    "one audience may be left out": (tokens({}, {"audience": "a"}), []),
    "two audiences may not": (
        tokens({}, {}),
        ['spec.tokenRequests[1].audience: Duplicate value: ""'],
    ),
    "ten minutes are long enough": (tokens({"expirationSeconds": 600}), []),
    "less is not": (
        tokens({"expirationSeconds": 599}),
        [
            "spec.tokenRequests[0].expirationSeconds: Invalid value: 599: "
            "may not specify a duration less than 10 minutes"
        ],
    ),
    "2^32 seconds are not too long": (tokens({"expirationSeconds": 2**32}), []),
    "more is": (
        tokens({"expirationSeconds": 2**32 + 1}),
        [
            f"spec.tokenRequests[0].expirationSeconds: Invalid value: {2**32 + 1}: "
            "may not specify a duration larger than 2^32 seconds"
        ],
    ),
    "limits are asked for every ten seconds at most": (
        {"spec": {"nodeAllocatableUpdatePeriodSeconds": 9}},
        [
            "spec.nodeAllocatableUpdatePeriodSeconds: Invalid value: 9: "
            "must be greater than or equal to 10 seconds"
        ],
    ),
    "limits may be asked for every ten seconds": (
        {"spec": {"nodeAllocatableUpdatePeriodSeconds": 10}},
        [],
    ),
    "tokens in secrets need tokens": (
        {"spec": {"serviceAccountTokenInSecrets": True}},
        [
            "spec.serviceAccountTokenInSecrets: Invalid value: true: "
            "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
        ],
    ),
}


@pytest.mark.parametrize(("patch", "complaints"), CREATED.values(), ids=CREATED)
def test_create(patch: Doc, complaints: list[str]) -> None:
    assert create(CSI_DRIVER, merged(a_driver(), patch)) == complaints


@pytest.mark.parametrize("policy", ["File", "None", "ReadWriteOnceWithFSType"])
def test_every_group_policy_is_known(policy: str) -> None:
    assert create(CSI_DRIVER, a_driver(fsGroupPolicy=policy)) == []


UPDATED: dict[str, tuple[Doc, list[str]]] = {
    "nothing changed is fine": ({}, []),
    "information on mount may change": ({"spec": {"podInfoOnMount": True}}, []),
    "the group policy may change": ({"spec": {"fsGroupPolicy": "File"}}, []),
    "tokens may change": (tokens({"audience": "a"}), []),
    "the need to attach may not change": (
        {"spec": {"attachRequired": False}},
        ["spec.attachedRequired: Invalid value: false: field is immutable"],
    ),
    "the ways of life may not change": (
        {"spec": {"volumeLifecycleModes": ["Ephemeral"]}},
        ['spec.volumeLifecycleModes: Invalid value: ["Ephemeral"]: field is immutable'],
    ),
    "what is left out is the default": ({"spec": {"attachRequired": None}}, []),
}


@pytest.mark.parametrize(("patch", "complaints"), UPDATED.values(), ids=UPDATED)
def test_update(patch: Doc, complaints: list[str]) -> None:
    assert update(CSI_DRIVER, created(CSI_DRIVER, a_driver()), patch) == complaints


GENERATIONS: dict[str, tuple[Doc, Doc, int | None]] = {
    "a new driver has none": ({}, {}, None),
    "the first change counts 1": ({}, {"spec": {"podInfoOnMount": True}}, 1),
    "the next one counts on": (
        {"metadata": {"generation": 4}},
        {"spec": {"podInfoOnMount": True}},
        5,
    ),
    "labels do not count": (
        {"metadata": {"generation": 4}},
        {"metadata": {"labels": {"a": "b"}}},
        4,
    ),
}


@pytest.mark.parametrize(("given", "patch", "then"), GENERATIONS.values(), ids=GENERATIONS)
def test_generation(given: Doc, patch: Doc, then: int | None) -> None:
    old = merged(created(CSI_DRIVER, a_driver()), given)
    new = updated(CSI_DRIVER, old, merged(old, patch))
    assert new["metadata"].get("generation") == then


def test_tokens_outside_of_secrets_are_warned_of() -> None:
    asking = merged(a_driver(), tokens({"audience": "a"}))
    (word,) = warned(CSI_DRIVER, asking)
    assert word.startswith("spec.serviceAccountTokenInSecrets is unset; ")
    assert CSI_DRIVER.update_warnings is not None
    assert list(CSI_DRIVER.update_warnings(asking, asking)) == []  # it was said before
    assert list(CSI_DRIVER.update_warnings(asking, a_driver())) == [word]
    safe = merged(asking, {"spec": {"serviceAccountTokenInSecrets": True}})
    assert warned(CSI_DRIVER, safe) == []


def test_a_row() -> None:
    assert printed(CSI_DRIVER, created(CSI_DRIVER, a_driver())) == {
        "Name": "hostpath.csi.k8s.io",
        "AttachRequired": True,
        "PodInfoOnMount": False,
        "StorageCapacity": False,
        "TokenRequests": "<unset>",
        "RequiresRepublish": False,
        "Modes": "Persistent",
        "Age": "27h",
    }


def test_audiences_and_modes_are_listed() -> None:
    driver = a_driver(
        volumeLifecycleModes=["Persistent", "Ephemeral"],
        tokenRequests=[{"audience": "a"}, {"audience": "b"}],
    )
    row = printed(CSI_DRIVER, driver)
    assert (row["Modes"], row["TokenRequests"]) == ("Persistent,Ephemeral", "a,b")
    assert printed(CSI_DRIVER, a_driver())["Modes"] == "<none>"
