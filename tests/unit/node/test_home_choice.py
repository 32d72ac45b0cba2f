"""Which root directory a node gets: never another's, never one that leaves mounts behind."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from mooring.node.home_choice import (
    IN_PLACE,
    MOST_NAMES,
    Choice,
    HomeView,
    InPlace,
    MoveTo,
    NodeEntry,
    Refused,
    UseRoot,
    choose,
    names_for,
)

HOMES = Path("/var/lib/mooring-node")
DATA, OTHER = Path("/srv/data"), Path("/srv/other")
FIRST, SECOND = HOMES / "11111111", HOMES / "22222222"
KUBELET = Path("/var/lib/kubelet")
LINK = DATA / "node"

FRESH = HomeView(
    data=DATA,
    thing=NodeEntry.NOTHING,
    leads_to=None,
    is_mounted=False,
    candidates=(FIRST, SECOND),
    wished=None,
    unusable=frozenset(),
    claimed_by={},
    ours=frozenset(),
)
LINKED = replace(FRESH, thing=NodeEntry.LINK, leads_to=FIRST)
OLD = replace(FRESH, thing=NodeEntry.DIRECTORY)
WISHED = replace(FRESH, wished=KUBELET)

CHOICES: dict[str, tuple[HomeView, Choice]] = {
    "nothing yet": (FRESH, UseRoot(FIRST)),
    "nothing but an empty directory": (
        replace(FRESH, thing=NodeEntry.EMPTY_DIRECTORY),
        UseRoot(FIRST),
    ),
    "removed by hand, and started again in the same place": (
        replace(FRESH, ours=frozenset((FIRST,))),
        UseRoot(FIRST),
    ),
    "the first name is another's, that was here before": (
        replace(FRESH, claimed_by={FIRST: OTHER}),
        UseRoot(SECOND),
    ),
    "the first name is no directory of root's": (
        replace(FRESH, unusable=frozenset((FIRST,))),
        UseRoot(SECOND),
    ),
    "a restart": (replace(LINKED, ours=frozenset((FIRST,))), UseRoot(FIRST)),
    "a moved data directory keeps its node": (
        replace(LINKED, leads_to=HOMES / "33333333"),
        UseRoot(HOMES / "33333333"),
    ),
    "a copied data directory gets a node of its own": (
        replace(LINKED, leads_to=HOMES / "33333333", claimed_by={HOMES / "33333333": OTHER}),
        UseRoot(FIRST),
    ),
    "a link to a root that was chosen by a flag": (
        replace(LINKED, leads_to=KUBELET, ours=frozenset((KUBELET,))),
        UseRoot(KUBELET),
    ),
    "an earlier version's, in use": (replace(OLD, is_mounted=True), InPlace(IN_PLACE)),
    "an earlier version's, at rest": (OLD, MoveTo(FIRST)),
    "as wished": (WISHED, UseRoot(KUBELET)),
    "as wished, before it was elsewhere": (
        replace(WISHED, thing=NodeEntry.LINK, leads_to=FIRST),
        UseRoot(KUBELET),
    ),
    "as wished, and as it is": (
        replace(WISHED, thing=NodeEntry.LINK, leads_to=KUBELET, is_mounted=True),
        UseRoot(KUBELET),
    ),
}


@pytest.mark.parametrize(("look", "chosen"), CHOICES.values(), ids=CHOICES)
def test_chosen(look: HomeView, chosen: Choice) -> None:
    assert choose(look) == chosen


REFUSED = {
    "a link that somebody planted": (
        replace(LINKED, leads_to=Path("/etc")),
        "/srv/data/node leads to /etc, which is no root directory of its node: remove the link",
    ),
    "a link out of the place for roots": (
        replace(LINKED, leads_to=HOMES / ".."),
        "is no root directory of its node",
    ),
    "a link to what others can write to": (
        replace(LINKED, unusable=frozenset((FIRST,))),
        "is no root directory of its node",
    ),
    "something else is in the way": (
        replace(FRESH, thing=NodeEntry.OTHER),
        "/srv/data/node is no directory: remove it",
    ),
    "a wish, and mounts elsewhere": (
        replace(WISHED, thing=NodeEntry.LINK, leads_to=FIRST, is_mounted=True),
        f"volumes of pods are mounted in {FIRST}",
    ),
    "a wish for what is another's": (
        replace(WISHED, claimed_by={KUBELET: OTHER}),
        "/var/lib/kubelet belongs to the data directory /srv/other",
    ),
    "a wish for a place that goes with the data": (
        replace(FRESH, wished=DATA / "deep" / "root"),
        "is in the data directory, and would be lost with it",
    ),
    "a wish, and a directory of an earlier version": (
        replace(WISHED, thing=NodeEntry.DIRECTORY),
        "move it to /var/lib/kubelet, or give no --root-dir",
    ),
    "no name is left": (
        replace(FRESH, claimed_by={FIRST: OTHER, SECOND: OTHER}),
        f"no root directory for a node is free in {HOMES}",
    ),
}


@pytest.mark.parametrize(("look", "told"), REFUSED.values(), ids=REFUSED)
def test_refused(look: HomeView, told: str) -> None:
    chosen = choose(look)
    assert isinstance(chosen, Refused)
    assert told in chosen.because


def test_names_follow_from_the_path_and_are_short() -> None:
    assert names_for(DATA) == names_for(DATA)
    assert len({*names_for(DATA), *names_for(OTHER)}) == 2 * MOST_NAMES
    assert {len(name) for name in names_for(DATA)} == {8}


def test_the_usual_data_directory_has_a_name_that_can_be_told() -> None:
    assert names_for(Path("/var/lib/mooring"))[0] == "default"
