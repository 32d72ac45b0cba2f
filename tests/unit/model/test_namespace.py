"""Namespaces as controllers read them."""

from typing import Any

from mooring.model.namespace import Namespace
from tests.unit.model.reading import read

DOCUMENT: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": "ns", "labels": {"kubernetes.io/metadata.name": "ns"}},
    "spec": {"finalizers": ["kubernetes"]},
    "status": {"phase": "Active"},
}


def test_an_active_namespace() -> None:
    namespace = read(DOCUMENT, Namespace)
    assert namespace.spec.finalizers == ("kubernetes",)
    assert not namespace.is_terminating


def test_a_terminating_namespace() -> None:
    assert read(DOCUMENT | {"status": {"phase": "Terminating"}}, Namespace).is_terminating
