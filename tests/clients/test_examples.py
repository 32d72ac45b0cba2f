"""The manifests in `examples`: they work, all at once and again, on either side."""

from pathlib import Path

import pytest
import yaml

from tests.clients.kubectl import Kubectl, kubectls
from tests.clients.manifests import Doc
from tests.fakes.real_server import RealServer

EXAMPLES = Path(__file__).parents[2] / "examples"
DOCUMENTS = [
    document
    for file in sorted(EXAMPLES.rglob("*.yaml"))
    for document in yaml.safe_load_all(file.read_text())
]
ALL = ("-R", "-f", str(EXAMPLES))


@pytest.fixture
def untouched(kubectl: Kubectl, own_api_server: RealServer) -> Kubectl:
    """A kubectl with a server where nobody else writes."""
    return kubectl.as_user(own_api_server.kubeconfig).in_namespace("default")


def outcomes(said: str) -> list[str]:
    return [line.split()[1] for line in said.splitlines()]


def outcome_of_another(document: Doc) -> str:
    """kubectl compares claim templates as a whole, and the server's has defaults."""
    return "configured" if "volumeClaimTemplates" in document.get("spec", ()) else "unchanged"


@kubectls()
def test_all_examples_at_once_and_again(alone: Kubectl) -> None:
    first = alone("apply", *ALL)
    again = alone("apply", *ALL)

    assert outcomes(first) == ["created"] * len(DOCUMENTS)
    assert outcomes(again) == [outcome_of_another(document) for document in DOCUMENTS]


@kubectls()
def test_all_examples_on_the_server_side(untouched: Kubectl) -> None:
    first = untouched("apply", "--server-side", *ALL)
    kinds = ",".join(sorted({document["kind"] for document in DOCUMENTS}))
    before = untouched.doc(kinds)
    again = untouched("apply", "--server-side", *ALL)

    assert outcomes(first) == outcomes(again) == ["serverside-applied"] * len(DOCUMENTS)
    assert untouched.doc(kinds)["items"] == before["items"]


def test_examples_say_nothing_that_is_unknown(kubectl: Kubectl) -> None:
    ran = kubectl.run("apply", "--dry-run=server", "--validate=strict", *ALL)

    assert ran.code == 0, ran.err
    assert "Warning" not in ran.err
