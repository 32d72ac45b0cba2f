import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.apiserver.lifecycle.garbage_collector.decide import (
    FOREGROUND,
    ORPHAN,
    Delete,
    Dependent,
    DropFinalizer,
    DropReferences,
    Reference,
    Step,
    StoreKey,
    decide_dependent,
    decide_owner,
    without_finalizer,
    without_references,
)

PLACE = StoreKey("configmaps", "default/x")
OWNER = StoreKey("configmaps", "default/owner")

THERE = Reference("there", exists=True)
GONE = Reference("gone", exists=False)
GOING = Reference("going", exists=True, foreground=True)
BLOCKED = Reference("owner", exists=True, blocks=True, foreground=True)


def a_dependent(*references: Reference, deleting: bool = False) -> Dependent:
    return Dependent(PLACE, "u", deleting=deleting, references=references)


DEPENDENTS: dict[str, tuple[Dependent, tuple[Step, ...]]] = {
    "without owners it stays": (a_dependent(), ()),
    "with an owner it stays": (a_dependent(THERE), ()),
    "without any owner left it goes": (
        a_dependent(GONE),
        (Delete(PLACE, "u", "none of its owners exists"),),
    ),
    "with one owner of two it forgets the other": (
        a_dependent(GONE, THERE),
        (DropReferences(PLACE, frozenset({"gone"}), "other owners remain"),),
    ),
    "with one owner that stays it forgets the one that waits": (
        a_dependent(GONE, GOING, THERE),
        (DropReferences(PLACE, frozenset({"gone", "going"}), "other owners remain"),),
    ),
    "an owner that waits for it lets it go": (
        a_dependent(GOING),
        (Delete(PLACE, "u", "its owner goes, dependents first", foreground=True),),
    ),
    "an owner that waits for it and one that is gone let it go": (
        a_dependent(GONE, GOING),
        (Delete(PLACE, "u", "its owner goes, dependents first", foreground=True),),
    ),
    "what goes already is left alone": (a_dependent(GONE, deleting=True), ()),
}


@pytest.mark.parametrize(("dependent", "steps"), DEPENDENTS.values(), ids=DEPENDENTS)
def test_a_dependent(dependent: Dependent, steps: tuple[Step, ...]) -> None:
    assert decide_dependent(dependent) == steps


references = st.builds(
    Reference,
    st.sampled_from("abcd"),
    exists=st.booleans(),
    blocks=st.booleans(),
    foreground=st.booleans(),
)


@given(st.lists(references, max_size=5))
def test_who_has_an_owner_that_stays_is_never_deleted(owners: list[Reference]) -> None:
    steps = decide_dependent(a_dependent(*owners))
    has_one = any(owner.exists and not owner.foreground for owner in owners)
    assert any(isinstance(step, Delete) for step in steps) == (bool(owners) and not has_one)


OWNERS: dict[str, tuple[list[str], list[Dependent], tuple[Step, ...]]] = {
    "it holds itself for no dependents": (["example.com/hold"], [a_dependent(BLOCKED)], ()),
    "it orphans": (
        [ORPHAN],
        [a_dependent(BLOCKED)],
        (
            DropReferences(PLACE, frozenset({"owner"}), "its owner lets go of it"),
            DropFinalizer(OWNER, ORPHAN, "no dependent refers to it any more"),
        ),
    ),
    "it waits for what blocks it": (
        [FOREGROUND],
        [a_dependent(BLOCKED)],
        (Delete(PLACE, "u", "its owner goes, dependents first", foreground=True),),
    ),
    "it waits for what goes already": (
        [FOREGROUND],
        [a_dependent(BLOCKED, deleting=True)],
        (),
    ),
    "it does not wait for what does not block it": (
        [FOREGROUND],
        [a_dependent(GOING)],
        (
            Delete(PLACE, "u", "its owner goes, dependents first", foreground=True),
            DropFinalizer(OWNER, FOREGROUND, "no dependent blocks it"),
        ),
    ),
    "it has no dependents": (
        [FOREGROUND],
        [],
        (DropFinalizer(OWNER, FOREGROUND, "no dependent blocks it"),),
    ),
}


@pytest.mark.parametrize(("finalizers", "dependents", "steps"), OWNERS.values(), ids=OWNERS)
def test_an_owner_that_is_deleted(
    finalizers: list[str], dependents: list[Dependent], steps: tuple[Step, ...]
) -> None:
    assert decide_owner(OWNER, "owner", finalizers, dependents) == steps


def test_references_are_dropped_by_uid_and_nothing_else_changes() -> None:
    kept, dropped = {"uid": "a", "name": "n"}, {"uid": "b", "name": "n"}
    doc = {"metadata": {"name": "x", "ownerReferences": [kept, dropped]}, "data": {}}
    once = without_references(doc, frozenset({"b"}))
    assert once == {"metadata": {"name": "x", "ownerReferences": [kept]}, "data": {}}
    assert without_references(once, frozenset({"a"})) == {"metadata": {"name": "x"}, "data": {}}
    assert doc["metadata"]["ownerReferences"] == [kept, dropped]


def test_a_finalizer_is_dropped_and_nothing_else_changes() -> None:
    doc = {"metadata": {"name": "x", "finalizers": ["a", "b"]}, "data": {}}
    once = without_finalizer(doc, "b")
    assert once == {"metadata": {"name": "x", "finalizers": ["a"]}, "data": {}}
    assert without_finalizer(once, "a") == {"metadata": {"name": "x"}, "data": {}}
    assert doc["metadata"]["finalizers"] == ["a", "b"]
