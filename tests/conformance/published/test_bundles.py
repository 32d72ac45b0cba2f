"""Bundles of others, unchanged: all of it is accepted, its pods come, `kubectl delete` ends it."""

import asyncio
from collections.abc import Callable, Iterator

import pytest

from tests.clients.kubectl import Kubectl
from tests.clients.manifests import Doc
from tests.conformance.obtain import Missing
from tests.conformance.published.bundles import BUNDLES, Bundle
from tests.fakes.waiting import until

SOON = ("--ignore-not-found", "--wait=false")
PASSING = ("events", "leases", "endpointslices", "endpoints", "podmetrics")
NAMES = "custom-columns=:.kind,:.metadata.namespace,:.metadata.name"
SECONDS = 90.0  # pods end with their grace, namespaces with what is in them
WAITS = {"ErrImagePull", "ImagePullBackOff", "PodInitializing"}


@pytest.fixture(params=BUNDLES.values(), ids=list(BUNDLES))
def bundle(request: pytest.FixtureRequest) -> Bundle:
    chosen: Bundle = request.param
    try:
        chosen.words()
    except Missing as reason:
        pytest.skip(f"the published manifests cannot be had: {reason}")
    return chosen


@pytest.fixture
def kubectl(kubectl: Kubectl) -> Kubectl:
    """As it is typed: each object says its namespace."""
    return kubectl.in_namespace("")


@pytest.fixture
def kinds(kubectl: Kubectl) -> str:
    """All that a bundle could leave behind."""
    listed = kubectl("api-resources", "--verbs=list", "-o", "name").split()
    return ",".join(each for each in listed if each.partition(".")[0] not in PASSING)


@pytest.fixture
def ended(kubectl: Kubectl, bundle: Bundle) -> Iterator[None]:
    """Nothing of it disturbs the next."""
    yield
    for words in reversed(bundle.words()):
        kubectl.run("delete", *SOON, *words)


@pytest.mark.usefixtures("ended")
def test_a_bundle_installs_and_leaves_nothing(kubectl: Kubectl, bundle: Bundle, kinds: str) -> None:
    def everything() -> list[str]:
        return sorted(kubectl("get", kinds, "-A", "--no-headers", "-o", NAMES).splitlines())

    before = everything()
    for words in bundle.words():
        kubectl("apply", *words)
    _eventually(lambda: len(_pods(kubectl)), bundle.pods)
    _eventually(lambda: [pod["metadata"]["name"] for pod in _pods(kubectl) if _is_mute(pod)], [])

    for words in reversed(bundle.words()):
        kubectl("delete", *SOON, *words)
    _eventually(everything, before)


def _eventually(ask: Callable[[], object], wanted: object) -> None:
    try:
        asyncio.run(until(lambda: ask() == wanted, SECONDS))
    except TimeoutError:
        assert ask() == wanted


def _pods(kubectl: Kubectl) -> list[Doc]:
    return list(kubectl.doc("pods", "-A")["items"])


def _is_mute(pod: Doc) -> bool:
    """Whether it neither runs nor says what it waits for."""
    status = pod.get("status", {})
    if status.get("phase") == "Pending" and "containerStatuses" not in status:
        return not any(each.get("message") for each in status.get("conditions", ()))
    states = [each["state"] for each in status["containerStatuses"]]
    return not all(set(state) <= {"running", "waiting"} for state in states) or any(
        state["waiting"].get("reason") not in WAITS for state in states if "waiting" in state
    )
