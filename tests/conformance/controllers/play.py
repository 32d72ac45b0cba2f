"""Playing stories: on one cluster, and the same on several at once."""

import asyncio
import itertools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from tests.conformance.controllers.picture import Picture, picture, summary, told
from tests.conformance.controllers.stage import Cluster, Restless, Stage
from tests.conformance.controllers.story import Act, Company, Story, Then, Together, Told

HURRIED, UNHURRIED = 1.2, 3.0
"""Seconds without a change after which controllers count as done. Kubernetes' binder looks at
everything every `RESYNC` of a second here, and drops what fails until then."""
RESYNC = "400ms"
AT_ONCE = 14  # plays on one cluster
CLEAN_UP_SECONDS = 30.0

_LAST = ("pod", "claim", "volume", "attributes class")

_numbers = itertools.count(1)


class Outcome(msgspec.Struct, frozen=True):
    """How a play went."""

    answers: Sequence[str]  # to each act
    pictures: Sequence[Picture]  # after each act
    told: frozenset[Told]
    unmet: Sequence[str] = ()  # what the story said and did not happen


Outcomes = Mapping[str, Outcome]
"""Of one story, by the name of the cluster."""


async def play_all(
    stories: Iterable[Story], clusters: Sequence[Cluster], quiet: float = HURRIED
) -> list[Outcomes]:
    """Some at the same time, those that must be alone one after the other; order is kept."""
    stories = list(stories)
    limits = {Company.ANY: asyncio.Semaphore(AT_ONCE), Company.NO_RECYCLING: asyncio.Semaphore(1)}
    results: dict[int, Outcomes] = {}

    async def run(number: int, limit: asyncio.Semaphore) -> None:
        async with limit:
            results[number] = await play(stories[number], clusters, quiet)

    async with asyncio.TaskGroup() as tasks:
        for number, story in enumerate(stories):
            if story.company is not Company.NOBODY:
                tasks.create_task(run(number, limits[story.company]))
    for number, story in enumerate(stories):
        if story.company is Company.NOBODY:
            await run(number, asyncio.Semaphore(1))
    return [results[number] for number in range(len(stories))]


async def play(story: Story, clusters: Sequence[Cluster], quiet: float) -> Outcomes:
    """On each cluster, at the same time."""
    name = f"s{next(_numbers)}"
    async with asyncio.TaskGroup() as tasks:
        plays = {each.name: tasks.create_task(_play(story, each, name, quiet)) for each in clusters}
    return {cluster: task.result() for cluster, task in plays.items()}


async def _play(story: Story, cluster: Cluster, name: str, quiet: float) -> Outcome:
    answers: list[str] = []
    pictures: list[Picture] = []
    unmet: list[str] = []
    async with cluster.stage(name) as stage:
        await _prepare(cluster, name)
        try:
            for step in story.steps:
                if isinstance(step, Then):
                    unmet += _unmet(stage, step.seen, len(pictures))
                    continue
                answers.append(await _do(step, cluster, stage))
                await stage.settle(quiet)
                pictures.append(picture(stage))
        except Restless as reason:
            unmet.append(f"step {len(answers)}: {reason}")
        events = told(stage, cluster.heard(stage), pictures)
        try:
            await _clean_up(story, cluster, stage, quiet)
        except (Restless, TimeoutError):
            unmet.append(f"these cannot be removed afterwards: {sorted(picture(stage))}")
    return Outcome(answers, pictures, events, unmet)


async def _do(step: Act | Together, cluster: Cluster, stage: Stage) -> str:
    """The answers, in short."""
    answers = []
    for act in step.acts if isinstance(step, Together) else (step,):
        code, doc = await cluster.do(act, stage)
        if not act.comes_late:
            answers.append(str(code) if code < 300 else f"{code} {doc.get('reason')}")
    return ", ".join(answers)


def _unmet(stage: Stage, wanted: Mapping[str, str], step: int) -> Iterable[str]:
    for label, words in wanted.items():
        got = summary(stage, label)
        if got != words:
            yield f"step {step}: {label} is {got!r}, not {words!r}"


async def _prepare(cluster: Cluster, name: str) -> None:
    """A namespace, with the account that pods run as."""
    await cluster.ask("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    account = {"metadata": {"name": "default"}}
    await cluster.ask("POST", f"/api/v1/namespaces/{name}/serviceaccounts", account)


async def _clean_up(story: Story, cluster: Cluster, stage: Stage, quiet: float) -> None:
    """Leave nothing that the next play could meet."""
    for act in story.acts():
        if act.words.startswith(("create class", "create node")):
            assert act.body is not None
            await cluster.ask("DELETE", stage.fill(f"{act.path}/{act.body['metadata']['name']}"))
    async with asyncio.timeout(CLEAN_UP_SECONDS):
        while stage.present:
            for seen in sorted(stage.present.values(), key=lambda each: _LAST.index(each.kind)):
                await _remove(cluster, seen.kind, seen.doc["metadata"])
            await stage.settle(quiet / 4)
    for path in stage.paths:
        _remove_directory(Path(path))


def _remove_directory(made: Path) -> None:
    """What nobody deleted, because the volume's policy is to retain it."""
    if made.parent == Path("/tmp/hostpath_pv") and made.exists():  # noqa: S108
        made.rmdir()


async def _remove(cluster: Cluster, kind: str, metadata: Mapping[str, str]) -> None:
    base = "/apis/storage.k8s.io/v1" if kind == "attributes class" else "/api/v1"
    plural = {
        "pod": "pods",
        "claim": "persistentvolumeclaims",
        "volume": "persistentvolumes",
        "attributes class": "volumeattributesclasses",
    }[kind]
    place = f"/namespaces/{metadata['namespace']}" if "namespace" in metadata else ""
    path = f"{base}{place}/{plural}/{metadata['name']}"
    await cluster.ask("DELETE", f"{path}?gracePeriodSeconds=0")
    await cluster.ask("PATCH", path, {"metadata": {"finalizers": None}})
