"""Which revision a template has, and which are forgotten."""

import json

from mooring.controllers.revisions.decide import decide_history, forget, template_of
from mooring.controllers.revisions.plan import AdoptRevision, CreateRevision, RaiseRevision
from mooring.model.controller_revision import ControllerRevision
from mooring.model.wire import read_document
from tests.unit.controllers.statefulset.worlds import OF_SET, a_revision, a_set, template

LABEL = "controller.kubernetes.io/hash"


def numbers(*of: int) -> list[ControllerRevision]:
    return [a_revision(number, f"i{number}") for number in of]


def test_a_new_template_is_kept_under_the_name_of_its_hash() -> None:
    set_ = a_set(metadata={"annotations": {"kubernetes.io/change-cause": "why"}})
    history = decide_history(set_, template("new"), numbers(1, 4), LABEL, 0)
    (made,) = history.steps
    assert isinstance(made, CreateRevision)
    document = made.document()
    assert document["revision"] == 5
    assert document["metadata"] == {
        "name": f"web-{history.hash}",
        "namespace": "ns",
        "labels": {"app": "web", LABEL: history.hash},
        "annotations": {"kubernetes.io/change-cause": "why"},
        "ownerReferences": [OF_SET],
    }
    assert document["data"]["spec"]["template"] == {**template("new"), "$patch": "replace"}


def test_the_data_is_written_in_the_order_in_which_others_compare_it() -> None:
    written = {"spec": {"b": [{"d": 1, "c": 2}], "a": 1}, "metadata": {}}
    (made,) = decide_history(a_set(), written, [], LABEL, 0).steps
    assert isinstance(made, CreateRevision)
    assert json.dumps(made.document()["data"], separators=(",", ":")) == (
        '{"spec":{"template":{"$patch":"replace","metadata":{},'
        '"spec":{"a":1,"b":[{"c":2,"d":1}]}}}}'
    )


def test_a_collision_makes_another_name() -> None:
    names = {
        decide_history(a_set(), template("new"), [], LABEL, collisions).update
        for collisions in range(3)
    }
    assert len(names) == 3


def test_the_newest_of_equal_revisions_is_taken() -> None:
    known = [a_revision(1, "x"), a_revision(2, "x")]
    history = decide_history(a_set(), template("x"), known, LABEL, 0)
    assert (history.update, history.steps) == ("web-2", ())


def test_an_older_one_becomes_the_newest_again() -> None:
    history = decide_history(a_set(), template("i1"), numbers(1, 2), LABEL, 0)
    (raised,) = history.steps
    assert isinstance(raised, RaiseRevision)
    assert (raised.seen.name, raised.revision, history.update) == ("web-1", 3, "web-1")


def test_one_without_a_controller_is_adopted() -> None:
    doc = {"metadata": {"name": "web-7"}, "data": a_revision(7, "x").data, "revision": 7}
    lone = read_document(doc, ControllerRevision)
    history = decide_history(a_set(), template("x"), [lone], LABEL, 0)
    (adopted,) = history.steps
    assert isinstance(adopted, AdoptRevision)
    assert history.update == "web-7"


def test_the_template_is_read_back_as_it_was() -> None:
    assert template_of(a_revision(1, "x")) == template("x")


def test_those_in_use_are_kept_whatever_the_limit() -> None:
    gone = forget(numbers(3, 1, 2), {"web-1"}, 0)
    assert [step.seen.name for step in gone] == ["web-2", "web-3"]
    assert forget(numbers(1, 2), set(), 2) == ()
