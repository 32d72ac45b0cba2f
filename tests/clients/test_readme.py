"""What the pages show of the bundled driver, typed as it stands there."""

import json
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
WALK = "docs/walk-through.md"
SECTIONS = ("The default class", "Volumes that grow and can be copied")
TUTORIAL = "docs/tutorial.md"
STEPS = ("A volume, and a pod that writes to it", "A snapshot", "Restore", "Clean up")
DASHBOARD = ROOT / "deploy/grafana/mooring.json"
METRIC = re.compile(r"\b(?!histogram_quantile)[a-z]+(?:_[a-z]+)+\b")
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
VARIES = {"get", "exec"}  # names, ages and sizes are of the machine
CAPACITY = "jsonpath={.status.capacity.storage}"


class Typed(msgspec.Struct, frozen=True):
    words: tuple[str, ...]
    shown: str


FILE = re.compile(r'^```yaml title="(.*?)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def typed_in(page: str, section: str) -> Iterator[Typed]:
    text = (ROOT / page).read_text(encoding="utf-8")
    (body,) = re.findall(rf"^## {section}\n(.*?)(?=^## )", text, re.MULTILINE | re.DOTALL)
    for block in BLOCK.findall(body):
        for step in block.split("$ kubectl ")[1:]:
            line, _, shown = step.partition("\n")
            yield Typed(tuple(shlex.split(line)), shown.strip())


def _plain(said: str) -> str:
    """Later kubectls add in which namespace they have deleted."""
    return re.sub(r"^(.* deleted) from .* namespace$", r"\1", said, flags=re.MULTILINE)


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
    """Somebody who types all of it, in the directory of the repository or in one of his own."""

    def __init__(self, kubectl: Kubectl, directory: Path = ROOT) -> None:
        self._kubectl = kubectl
        self._directory = directory
        self.said: dict[str, str] = {}  # by the command line

    def type(self, step: Typed) -> None:
        files = {word for word in step.words if word.endswith(".yaml")}
        words = [str(self._directory / word) if word in files else word for word in step.words]
        if words[0] == "wait":
            words.append(WITHIN)
            if any(CAPACITY in word for word in words) and not grows_mounted("ext4"):
                self._replace_the_pod()
        said = self._kubectl(*words)
        self.said[shlex.join(step.words)] = said
        if words[0] not in VARIES:
            assert _plain(said) == step.shown, said

    def _replace_the_pod(self) -> None:
        """As `docs/csi.md` tells those whose ext4 cannot grow while it is mounted."""
        kubectl = self._kubectl
        resized = 'jsonpath={.status.conditions[?(@.type=="NodeResizeError")].status}=True'
        kubectl("wait", "pvc/notes", f"--for={resized}", WITHIN)
        pod = kubectl("get", "pod", "notebook", "-o", "yaml")
        kubectl("replace", "--force", "-f", "-", given=pod)
        kubectl("wait", "pod/notebook", "--for=condition=Ready", WITHIN)


@kubectls(since=(1, 23))
def test_every_command_says_what_the_walk_shows(cleared: Kubectl) -> None:
    reader = Reader(cleared)
    for section in SECTIONS:
        for step in typed_in(WALK, section):
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


@kubectls(since=(1, 23))
def test_the_tutorial_restores_the_first_entry(cleared: Kubectl, tmp_path: Path) -> None:
    for name, content in FILE.findall((ROOT / TUTORIAL).read_text(encoding="utf-8")):
        (tmp_path / name).write_text(content)
    reader = Reader(cleared, tmp_path)
    for section in STEPS:
        for step in typed_in(TUTORIAL, section):
            reader.type(step)
    assert reader.said["exec writer -- cat /diary/page"] == "scribbled over"
    assert reader.said["exec reader -- cat /diary/page"] == "the first entry"


def test_the_first_session_of_the_readme_is_the_beginning_of_the_walk() -> None:
    walk = {step.words: step.shown for section in SECTIONS for step in typed_in(WALK, section)}
    session = list(typed_in("README.md", "A first session"))
    assert len(session) == 5
    for step in session:
        assert walk[step.words] == step.shown


def test_every_metric_of_the_dashboard_is_served(server: ServerWithNode) -> None:
    panels = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    asked = [target["expr"] for panel in panels for target in panel.get("targets", ())]
    shown = {name for expression in asked for name in METRIC.findall(_metrics_of(expression))}
    assert len(shown) > 20
    told = server.ask("GET", "/metrics").body.decode()
    served = set(re.findall(r"^# TYPE (\S+) ", told, re.MULTILINE))
    parts = {f"{name}_{part}" for name in served for part in ("bucket", "count", "sum")}
    assert shown <= served | parts


def _metrics_of(expression: str) -> str:
    """Without the labels that it chooses or sums by."""
    return re.sub(r"\{[^}]*\}|by \([^)]*\)", "", expression)
