import pytest

from mooring.apiserver.kinds.namespace import NAMESPACE
from mooring.model.document import Doc
from tests.unit.apiserver.kinds.writing import (
    BEFORE,
    NO_KEY,
    create,
    created,
    merged,
    printed,
    status_updated,
    update_status,
    updated,
)

TEAM: Doc = {
    "kind": "Namespace",
    "apiVersion": "v1",
    "metadata": {"name": "team", "creationTimestamp": BEFORE},
}


def test_a_new_namespace_is_active_and_labelled_with_its_name() -> None:
    new = created(NAMESPACE, TEAM)
    assert new["status"] == {"phase": "Active"}
    assert new["spec"] == {"finalizers": ["kubernetes"]}
    assert new["metadata"]["labels"] == {"kubernetes.io/metadata.name": "team"}


def test_the_label_tells_the_name_whatever_the_client_says() -> None:
    labels = {"kubernetes.io/metadata.name": "other", "tier": "gold"}
    new = created(NAMESPACE, merged(TEAM, {"metadata": {"labels": labels}}))
    assert new["metadata"]["labels"] == {"kubernetes.io/metadata.name": "team", "tier": "gold"}


def test_a_status_given_at_birth_is_forgotten() -> None:
    new = created(NAMESPACE, {**TEAM, "status": {"phase": "Terminating"}})
    assert new["status"] == {"phase": "Active"}


def test_other_finalizers_may_be_given_at_birth() -> None:
    new = created(NAMESPACE, {**TEAM, "spec": {"finalizers": ["example.com/mine"]}})
    assert new["spec"]["finalizers"] == ["example.com/mine", "kubernetes"]
    again = created(NAMESPACE, new)
    assert again["spec"]["finalizers"] == ["example.com/mine", "kubernetes"]


def test_the_main_path_takes_no_finalizer_and_no_status() -> None:
    old = created(NAMESPACE, TEAM)
    new = merged(old, {"spec": {"finalizers": []}, "status": {"phase": "Terminating"}})
    assert updated(NAMESPACE, old, new) == old


def test_the_status_path_takes_nothing_but_status() -> None:
    old = created(NAMESPACE, TEAM)
    new = merged(old, {"spec": {"finalizers": []}, "status": {"phase": "Terminating"}})
    result = status_updated(NAMESPACE, old, new)
    assert result["spec"] == old["spec"]
    assert result["status"] == {"phase": "Terminating"}


FINALIZERS = {
    "a standard one is fine": ("kubernetes", []),
    "one with a domain is fine": ("example.com/mine", []),
    "a plain word is none": (
        "word",
        [
            'spec.finalizers: Invalid value: "word": '
            "name is neither a standard finalizer name nor is it fully qualified"
        ],
    ),
}


@pytest.mark.parametrize(("finalizer", "complaints"), FINALIZERS.values(), ids=FINALIZERS)
def test_finalizers(finalizer: str, complaints: list[str]) -> None:
    assert create(NAMESPACE, {**TEAM, "spec": {"finalizers": [finalizer]}}) == complaints


def test_a_finalizer_is_a_qualified_name() -> None:
    complaints = create(NAMESPACE, {**TEAM, "spec": {"finalizers": ["not a key"]}})
    assert complaints[0] == f'spec.finalizers: Invalid value: "not a key": {NO_KEY}'


DELETION = "2026-01-02T00:00:00Z"
PHASES: dict[str, tuple[str | None, str, list[str]]] = {
    "in use it is Active": (None, "Active", []),
    "being deleted it is Terminating": (DELETION, "Terminating", []),
    "nobody can call it Terminating while it is in use": (
        None,
        "Terminating",
        [
            'status.Phase: Invalid value: "Terminating": '
            "may only be 'Active' if `deletionTimestamp` is empty"
        ],
    ),
    "nobody can call it Active while it is being deleted": (
        DELETION,
        "Active",
        [
            'status.Phase: Invalid value: "Active": '
            "may only be 'Terminating' if `deletionTimestamp` is not empty"
        ],
    ),
}


@pytest.mark.parametrize(("deletion", "phase", "complaints"), PHASES.values(), ids=PHASES)
def test_phase(deletion: str | None, phase: str, complaints: list[str]) -> None:
    old = merged(created(NAMESPACE, TEAM), {"metadata": {"deletionTimestamp": deletion}})
    assert update_status(NAMESPACE, old, {"status": {"phase": phase}}) == complaints


def test_columns_and_fields() -> None:
    doc = created(NAMESPACE, TEAM)
    assert printed(NAMESPACE, doc) == {"Name": "team", "Status": "Active", "Age": "27h"}
    assert {name: read(doc) for name, read in NAMESPACE.fields.items()} == {
        "status.phase": "Active"
    }


def test_its_name_is_one_label() -> None:
    assert list(NAMESPACE.name_rule("a.b")) == ["must not contain dots"]
