from typing import Any

import pytest

from mooring.apiserver.kinds.definition.definition import FINALIZER
from mooring.apiserver.lifecycle.definitions.decide import (
    accepted_names,
    decide_status,
    deletion_begun,
    deletion_done,
    deletion_held,
    is_settled,
)
from tests.fakes.definitions import Doc, a_definition

NOW, LATER = "2026-01-02T03:04:05Z", "2026-01-02T03:05:05Z"
OURS = {"singular": "widget", "listKind": "WidgetList"}


def a_wish(**names: Any) -> Doc:
    return a_definition(**{**OURS, **names})


def accepted(definition: Doc, *others: Doc, now: str = NOW) -> Doc:
    return {**definition, "status": decide_status(definition, others, now)}


def told(definition: Doc) -> dict[str, tuple[str, str, str]]:
    return {
        each["type"]: (each["status"], each["reason"], each["message"])
        for each in definition["status"]["conditions"]
    }


def test_free_names_are_accepted_and_the_kind_is_established() -> None:
    found = accepted(a_wish(shortNames=["w"]))
    assert accepted_names(found) == {
        "plural": "widgets",
        "singular": "widget",
        "shortNames": ["w"],
        "kind": "Widget",
        "listKind": "WidgetList",
    }
    assert told(found) == {
        "NamesAccepted": ("True", "NoConflicts", "no conflicts found"),
        "Established": ("True", "InitialNamesAccepted", "the initial names have been accepted"),
    }


CONFLICTS: dict[str, tuple[Doc, str, str]] = {
    "a plural that is another's short name": (
        {"shortNames": ["widgets"]},
        "PluralConflict",
        '"widgets" is already in use',
    ),
    "a singular": ({"singular": "widget"}, "SingularConflict", '"widget" is already in use'),
    "two short names": (
        {"shortNames": ["w", "wd"]},
        "ShortNamesConflict",
        '["w" is already in use, "wd" is already in use]',
    ),
    "a kind": ({"kind": "Widget"}, "KindConflict", '"Widget" is already in use'),
    "a list kind": ({"kind": "WidgetList"}, "ListKindConflict", '"WidgetList" is already in use'),
    "the last of several": (
        {"plural": "widgets", "listKind": "WidgetList"},
        "ListKindConflict",
        '"WidgetList" is already in use',
    ),
}


@pytest.mark.parametrize(("other", "reason", "text"), CONFLICTS.values(), ids=CONFLICTS)
def test_a_name_that_is_taken(other: Doc, reason: str, text: str) -> None:
    found = accepted(a_wish(shortNames=["w", "wd"]), other)
    assert told(found)["NamesAccepted"] == ("False", reason, text)
    assert told(found)["Established"] == ("False", "NotAccepted", "not all names are accepted")
    assert not is_settled(found)


def test_short_names_are_accepted_all_or_none() -> None:
    found = accepted(a_wish(shortNames=["w", "free"]), {"shortNames": ["w"]})
    assert "shortNames" not in accepted_names(found)
    assert accepted_names(found)["plural"] == "widgets"


def test_categories_never_compete() -> None:
    found = accepted(a_wish(categories=["all"]), {"categories": ["all"]})
    assert told(found)["NamesAccepted"][0] == "True"


def test_what_is_established_stays_so_and_keeps_its_names() -> None:
    before = accepted(a_wish(shortNames=["w"]))
    before["spec"]["names"]["shortNames"] = ["taken"]
    after = accepted(before, {"shortNames": ["taken"]}, now=LATER)
    assert told(after)["Established"][0] == "True"
    assert accepted_names(after)["shortNames"] == ["w"]
    times = {each["type"]: each["lastTransitionTime"] for each in after["status"]["conditions"]}
    assert times == {"NamesAccepted": LATER, "Established": NOW}


def test_a_definition_with_all_its_names_needs_no_second_look() -> None:
    settled = accepted(a_wish())
    assert is_settled(settled)
    renamed = {**settled, "spec": {**settled["spec"], "names": {**OURS, "plural": "others"}}}
    assert not is_settled(renamed)


def test_a_deletion_ends_without_the_finalizer() -> None:
    going = accepted(a_wish())
    going["metadata"] = {**going["metadata"], "finalizers": ["a/b", FINALIZER]}
    begun = deletion_begun(going, NOW)
    assert told(begun)["Terminating"][:2] == ("True", "InstanceDeletionInProgress")
    held = deletion_held(begun, 2, NOW)
    assert told(held)["Terminating"][1] == "InstanceDeletionCheck"
    done = deletion_done(held, "InstanceDeletionCompleted", "removed all instances", NOW)
    assert told(done)["Terminating"] == (
        "False",
        "InstanceDeletionCompleted",
        "removed all instances",
    )
    assert done["metadata"]["finalizers"] == ["a/b"]
