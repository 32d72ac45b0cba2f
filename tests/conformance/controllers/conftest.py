"""Three clusters for all stories: Kubernetes, Mooring, and Mooring's controllers on Kubernetes."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack

import pytest

from tests.conformance.controllers.clusters import (
    kubernetes_alone,
    kubernetes_with_ours,
    mooring_alone,
)
from tests.conformance.controllers.judge import Verdict, perform
from tests.conformance.controllers.stage import Cluster
from tests.conformance.controllers.story import Story
from tests.conformance.obtain import Missing, Say
from tests.conformance.peers import Find

Judge = Callable[[Mapping[str, Story]], Mapping[str, Verdict]]


@pytest.fixture(scope="session")
def clusters(
    tmp_path_factory: pytest.TempPathFactory, find: Find, say: Say
) -> Iterator[list[Cluster]]:
    with ExitStack() as running:
        try:
            yield [
                running.enter_context(kubernetes_alone(tmp_path_factory.mktemp("theirs"), find)),
                running.enter_context(mooring_alone(tmp_path_factory.mktemp("ours"))),
                running.enter_context(kubernetes_with_ours(tmp_path_factory.mktemp("both"), find)),
            ]
        except Missing as reason:
            say(f"no Kubernetes to compare controllers with: {reason}")
            pytest.skip(f"no Kubernetes to compare controllers with: {reason}")


@pytest.fixture(scope="session")
def play(clusters: list[Cluster], say: Say) -> Judge:
    """Plays stories, many at a time, and tells which of them needed a second look."""

    def run(stories: Mapping[str, Story]) -> Mapping[str, Verdict]:
        verdicts = asyncio.run(perform(list(stories.values()), clusters))
        for name, verdict in zip(stories, verdicts, strict=True):
            if verdict.doubt:
                say(f"played again: {name}: {verdict.doubt.splitlines()[0]}")
        return dict(zip(stories, verdicts, strict=True))

    return run


def chosen(request: pytest.FixtureRequest, stories: Mapping[str, Story]) -> Mapping[str, Story]:
    """Those that tests of this run are about."""
    items = (item for item in request.session.items if isinstance(item, pytest.Function))
    names = {item.callspec.params.get("name") for item in items if hasattr(item, "callspec")}
    return {name: story for name, story in stories.items() if name in names}
