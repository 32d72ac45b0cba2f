"""What a test waits for, in the words of `kubectl wait`, and whether an object is there. Pure.

Bound                    status.phase
condition=Ready          the condition is True
condition=Ready=False    it has another status
status.replicas=3        the field has this value
exists, deleted
"""

from collections.abc import Callable
from typing import Any

import msgspec

from mooring.model.document import Doc
from mooring.testing.errors import ClusterError

Test = Callable[[Doc], bool]


class Until(msgspec.Struct, frozen=True):
    words: str  # for error texts: `is not ...`
    is_met: Callable[[Doc | None], bool]
    found: Callable[[Doc], str]  # what there is instead


def parse(goal: str | Test) -> Until:
    """Raises: ClusterError."""
    if callable(goal):
        name = getattr(goal, "__name__", "as the test wants it")
        return Until(name, lambda doc: doc is not None and bool(goal(doc)), _phase)
    if goal == "deleted":
        return Until(goal, lambda doc: doc is None, lambda _: "it exists")
    if goal == "exists":
        return Until(goal, lambda doc: doc is not None, _phase)
    word, is_assignment, value = goal.partition("=")
    if word == "condition":
        return _condition(value)
    if is_assignment:
        return _field(word, value)
    if not goal.isalpha():
        raise ClusterError(
            f"cannot wait for {goal!r}: give a phase (Bound), condition=TYPE, a field "
            "(status.replicas=3), exists, deleted, or a function"
        )
    return Until(goal, lambda doc: doc is not None and _get(doc, "status.phase") == goal, _phase)


def _condition(told: str) -> Until:
    kind, _, wanted = told.partition("=")
    wanted = wanted or "True"

    def status(doc: Doc) -> str:
        conditions = _get(doc, "status.conditions") or ()
        return next((one["status"] for one in conditions if one["type"] == kind), "not there")

    def is_met(doc: Doc | None) -> bool:
        return doc is not None and status(doc).lower() == wanted.lower()

    return Until(f"{kind}={wanted}", is_met, lambda doc: f"the condition {kind} is {status(doc)}")


def _field(path: str, value: str) -> Until:
    path = path.strip("{}.")

    def is_met(doc: Doc | None) -> bool:
        return doc is not None and _text(_get(doc, path)) == value

    return Until(
        f"{path}={value}", is_met, lambda doc: f"{path} is {_text(_get(doc, path)) or 'not there'}"
    )


def _phase(doc: Doc) -> str:
    phase = _get(doc, "status.phase")
    return f"its phase is {phase}" if phase else "it has no phase"


def _text(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _get(doc: Doc, path: str) -> Any:
    value: Any = doc
    for name in path.split("."):
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value
