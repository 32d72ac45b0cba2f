"""What is added to new pods, and which are turned away: tolerations, runtime classes."""

from collections.abc import Iterable
from typing import Any

import pytest

from mooring.apiserver.admission import default_tolerations, runtime_class
from mooring.apiserver.admission.contract import AdmissionAttributes, Operation
from mooring.apiserver.auth.user import ADMIN
from mooring.apiserver.kinds.pod.pod import POD
from mooring.errors import Forbidden
from mooring.model.document import Doc


class Nothing:
    """A cluster without objects."""

    def find(self, plural: str, namespace: str, name: str, group: str = "") -> Doc | None:
        return None

    def all(self, plural: str, namespace: str = "", group: str = "") -> Iterable[Doc]:
        return ()


def attempted(**spec: Any) -> AdmissionAttributes:
    new = {"metadata": {"name": "p"}, "spec": spec}
    return AdmissionAttributes(Operation.CREATE, POD, ADMIN, "default", "p", new=new)


def default(taint: str) -> Doc:
    return {
        "key": f"node.kubernetes.io/{taint}",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 300,
    }


NOT_READY, UNREACHABLE = default("not-ready"), default("unreachable")
OTHER = {"key": "a", "operator": "Exists", "effect": "NoExecute"}
AT_ONCE = {**NOT_READY, "tolerationSeconds": 0}

TOLERATIONS: dict[str, tuple[list[Doc], list[Doc]]] = {
    "a pod that says nothing stays five minutes": ([], [NOT_READY, UNREACHABLE]),
    "what it says comes first": ([OTHER], [OTHER, NOT_READY, UNREACHABLE]),
    "its own word on a taint counts": ([AT_ONCE], [AT_ONCE, UNREACHABLE]),
    "who tolerates everything tolerates these": (
        [{"operator": "Exists"}],
        [{"operator": "Exists"}],
    ),
    "another effect is another taint": (
        [{**NOT_READY, "effect": "NoSchedule"}],
        [{**NOT_READY, "effect": "NoSchedule"}, NOT_READY, UNREACHABLE],
    ),
}


@pytest.mark.parametrize(("given", "then"), TOLERATIONS.values(), ids=TOLERATIONS)
def test_tolerations(given: list[Doc], then: list[Doc]) -> None:
    attributes = attempted(**({"tolerations": given} if given else {}))
    default_tolerations.give(attributes, Nothing())
    assert attributes.new is not None
    assert attributes.new["spec"]["tolerations"] == then
    default_tolerations.give(attributes, Nothing())
    assert attributes.new["spec"]["tolerations"] == then


RUNTIMES: dict[str, tuple[Doc, str]] = {
    "a class": (
        {"runtimeClassName": "odd"},
        'pods "p" is forbidden: pod rejected: RuntimeClass "odd" not found',
    ),
    "the overhead of one": (
        {"overhead": {"cpu": "1"}},
        'pods "p" is forbidden: pod rejected: Pod Overhead set without corresponding '
        "RuntimeClass defined Overhead",
    ),
}


@pytest.mark.parametrize(("spec", "said"), RUNTIMES.values(), ids=RUNTIMES)
def test_there_are_no_runtime_classes(spec: Doc, said: str) -> None:
    with pytest.raises(Forbidden) as refusal:
        runtime_class.check(attempted(**spec), Nothing())
    assert refusal.value.message == said
    runtime_class.check(attempted(), Nothing())
