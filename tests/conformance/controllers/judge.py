"""Whether a story ended as it should: as it says itself, and on Mooring as on Kubernetes.

Kubernetes leaves some things to rng: which of two waiting claims gets a volume that comes, and
whether a state that is over in a moment is told of. So a story that seems to end otherwise is
played again, several times and with more patience. Then Mooring must have gone a way that
Kubernetes goes too, told everything that it always tells on that way, and nothing that it never
tells.
"""

import difflib
import json
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack

import msgspec

from tests.conformance.controllers.clusters import THEIRS
from tests.conformance.controllers.play import UNHURRIED, Outcome, Outcomes, play_all
from tests.conformance.controllers.stage import Cluster
from tests.conformance.controllers.story import Story, Told

AGAIN = 4  # plays of a story that seems to end otherwise


class Verdict(msgspec.Struct, frozen=True):
    """What is wrong, by the name of the cluster; an empty text if nothing is."""

    wrong: Mapping[str, str]
    doubt: str = ""  # what was wrong at first; then it was played again


async def perform(stories: Sequence[Story], clusters: Sequence[Cluster]) -> list[Verdict]:
    """Play them all, and judge."""
    async with AsyncExitStack() as watching:
        for cluster in clusters:
            await watching.enter_async_context(cluster.watched())
        plays = [[outcomes] for outcomes in await play_all(stories, clusters)]
        doubts = [_doubt(judge(*each)) for each in zip(stories, plays, strict=True)]
        again = [number for number, doubt in enumerate(doubts) if doubt for _ in range(AGAIN)]
        more = await play_all([stories[number] for number in again], clusters, UNHURRIED)
        for number, outcomes in zip(again, more, strict=True):
            plays[number].append(outcomes)
    return [
        Verdict(judge(story, each), doubt)
        for story, each, doubt in zip(stories, plays, doubts, strict=True)
    ]


def _doubt(wrong: Mapping[str, str]) -> str:
    return "\n".join(f"{name}: {text}" for name, text in wrong.items() if text)


def judge(story: Story, plays: Sequence[Outcomes]) -> Mapping[str, str]:
    """Of one story. The first play was hurried: for Mooring others count more, if there are any."""
    theirs = [play[THEIRS] for play in plays]
    wrong = {THEIRS: _wrong_with_theirs(story, theirs)}
    for name in plays[0]:
        if name != THEIRS:
            found = (
                broken(story, play[name]) or ("" if story.kept else difference(theirs, play[name]))
                for play in plays[1:] or plays
            )
            wrong[name] = next(filter(None, found), "")
    return wrong


def _wrong_with_theirs(story: Story, theirs: Sequence[Outcome]) -> str:
    found = [broken(story, each) for each in theirs]
    if not story.kept:
        return "" if "" in found else found[-1]
    return "" if all(found) else "Kubernetes ends alike now: it need not be kept different"


def broken(story: Story, outcome: Outcome) -> str:
    """Where the play went against the story."""
    lines = list(outcome.unmet)
    if story.told is not None:
        lines += _telling(story.told - outcome.told, outcome.told - story.told)
    return "\n".join(lines)


def difference(theirs: Sequence[Outcome], ours: Outcome) -> str:
    """Where Mooring's play went another way than all of Kubernetes'."""
    alike = [each for each in theirs if _way(each) == _way(ours)]
    if not alike:
        return _first_difference(theirs[-1], ours)
    always = frozenset.intersection(*(each.told for each in alike))
    ever = frozenset.union(*(each.told for each in alike))
    return "\n".join(_telling(always - ours.told, ours.told - ever))


def _way(outcome: Outcome) -> object:
    return outcome.answers, outcome.pictures


def _telling(missing: frozenset[Told], extra: frozenset[Told]) -> list[str]:
    lines = [f"not told: {_shown(each)}" for each in sorted(missing)]
    return lines + [f"told: {_shown(each)}" for each in sorted(extra)]


def _shown(each: Told) -> str:
    return f"{each.about}: {each.type} {each.reason} {each.message}"


def _first_difference(theirs: Outcome, ours: Outcome) -> str:
    for number, wanted in enumerate(zip(theirs.answers, theirs.pictures, strict=False), 1):
        if number > len(ours.pictures):
            return f"step {number} was never over"
        got = (ours.answers[number - 1], ours.pictures[number - 1])
        if got != wanted:
            diff = difflib.unified_diff(
                _lines(wanted), _lines(got), "kubernetes", "mooring", lineterm=""
            )
            return f"after step {number}\n" + "\n".join(diff)
    return f"kubernetes came to rest in {len(theirs.pictures)} steps, mooring in more"


def _lines(value: object) -> list[str]:
    return json.dumps(value, indent=1, sort_keys=True).splitlines()
