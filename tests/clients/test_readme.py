"""What the README shows of the bundled driver, typed as it stands there."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from mooring.driver.backends.filesystem import grows_mounted
from mooring.driver.objects import SLOW
from tests.clients.csi import server_with_driver
from tests.clients.kubectl import Kubectl, kubectls
from tests.clients.nodes import ServerWithNode
from tests.clients.pods import WITHIN

ROOT = Path(__file__).parents[2]
SECTIONS = ("The default class", "Volumes that grow and can be copied")
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
VARIES = {"get", "exec"}  # names, ages and sizes are of the machine
CAPACITY = "jsonpath={.status.capacity.storage}"


class Typed(msgspec.Struct, frozen=True):
    words: tuple[str, ...]
    shown: str


def typed_in(section: str) -> Iterator[Typed]:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (body,) = re.findall(rf"^## {section}\n(.*?)(?=^## )", text, re.MULTILINE | re.DOTALL)
    for block in BLOCK.findall(body):
        for step in block.split("$ kubectl ")[1:]:
            line, _, shown = step.partition("\n")
            yield Typed(tuple(shlex.split(line)), shown.strip())


@pytest.fixture(scope="module")
def server(needs_runtime: None) -> Iterator[ServerWithNode]:
    with server_with_driver() as running:
        yield running


@pytest.fixture
def cleared(kubectl: Kubectl) -> Iterator[Kubectl]:
    """Nothing that was typed stays mounted."""
    yield kubectl
    for kind in ("pod", "volumegroupsnapshot", "volumesnapshot", "pvc"):
        kubectl("delete", kind, "--all", WITHIN)


class Reader:
    """Somebody who types all of it, in the directory of the README."""

    def __init__(self, kubectl: Kubectl) -> None:
        self._kubectl = kubectl
        self.said: dict[str, str] = {}  # by the command line

    def type(self, step: Typed) -> None:
        words = [str(ROOT / word) if word.startswith("examples/") else word for word in step.words]
        if words[0] == "wait":
            words.append(WITHIN)
            if any(CAPACITY in word for word in words) and not grows_mounted("ext4"):
                self._replace_the_pod()
        said = self._kubectl(*words)
        self.said[shlex.join(step.words)] = said
        if words[0] not in VARIES:
            assert said == step.shown

    def _replace_the_pod(self) -> None:
        """As `docs/csi.md` tells those whose ext4 cannot grow while it is mounted."""
        kubectl = self._kubectl
        resized = 'jsonpath={.status.conditions[?(@.type=="NodeResizeError")].status}=True'
        kubectl("wait", "pvc/notes", f"--for={resized}", WITHIN)
        pod = kubectl("get", "pod", "notebook", "-o", "yaml")
        kubectl("replace", "--force", "-f", "-", given=pod)
        kubectl("wait", "pod/notebook", "--for=condition=Ready", WITHIN)


@kubectls(since=(1, 23))
def test_every_command_says_what_the_readme_shows(cleared: Kubectl) -> None:
    reader = Reader(cleared)
    for section in SECTIONS:
        for step in typed_in(section):
            reader.type(step)

    said = reader.said
    before = said["exec monday -- cat /notes/today"]
    assert before
    assert "scribbled over" not in before
    assert said["exec copyist -- cat /notes/today"].splitlines()[0] == "scribbled over"
    (columns,) = (text for line, text in said.items() if "custom-columns" in line)
    rows = [line.split() for line in columns.splitlines()[1:]]
    assert sorted(rows) == [
        ["<none>", "notes", "true"],
        ["shop-monday", "shop-data", "true"],
        ["shop-monday", "shop-log", "true"],
    ]
    current = ".status.currentVolumeAttributesClassName"
    assert cleared.field(current, "pvc", "notes") == SLOW
