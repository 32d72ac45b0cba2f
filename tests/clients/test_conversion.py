"""A kind of two versions with kubectl: the example's webhook converts between them, until it is
gone."""

import base64
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.clients.kubectl import Kubectl, kubectls
from tests.fakes.webhook_server import certified

EXAMPLE = Path(__file__).parents[2] / "examples" / "conversion"
SINCE = (1, 28)


@contextmanager
def webhook(directory: Path) -> Iterator[str]:
    """The example, running; its address."""
    command = [sys.executable, str(EXAMPLE / "webhook.py"), "--port", "0"]
    files = ["--cert", str(directory / "hook.crt"), "--key", str(directory / "hook.key")]
    process = subprocess.Popen(  # noqa: S603  its own example
        [*command, *files], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("converting at "), line
        yield line.removeprefix("converting at ").strip()
    finally:
        process.kill()
        process.communicate()


def a_crate(version: str, name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": "Crate", "metadata": {"name": name}, "spec": spec}


@kubectls(since=SINCE)
def test_crates_are_written_and_read_in_both_versions(
    kubectl: Kubectl, unique: str, tmp_path: Path
) -> None:
    group = f"{unique}.example.com"
    crd, v1, v2 = f"crd/crates.{group}", f"crates.v1.{group}", f"crates.v2.{group}"
    definition = yaml.safe_load((EXAMPLE / "definition.yaml").read_text(encoding="utf-8"))
    definition["metadata"]["name"] = f"crates.{group}"
    definition["spec"]["group"] = group
    client = definition["spec"]["conversion"]["webhook"]["clientConfig"]
    client["caBundle"] = base64.b64encode(certified(tmp_path)).decode()

    with webhook(tmp_path) as address:
        client["url"] = f"{address}/convert"
        kubectl("apply", "-f", "-", given=[definition])
        kubectl("wait", "--for", "condition=established", "--timeout=10s", crd)
        crates = [
            a_crate(f"{group}/v1", "old", size="3x4"),
            a_crate(f"{group}/v2", "new", width=5, height=6),
        ]
        kubectl("apply", "-f", "-", given=crates)
        table = kubectl("get", v2).split()
        assert table == ["NAME", "WIDTH", "HEIGHT", "new", "5", "6", "old", "3", "4"], table
        assert kubectl.doc(v1, "new")["spec"] == {"size": "5x6"}
        kubectl("patch", v2, "old", "--type=merge", "-p", '{"spec":{"width":9}}')

        definition["spec"]["versions"][0]["storage"] = False
        definition["spec"]["versions"][1]["storage"] = True
        kubectl("apply", "-f", "-", given=[definition])
        before = kubectl.doc(v1)["items"]
        kubectl("replace", "-f", "-", given=before)  # stores them all in v2

    after = kubectl.doc(v2)["items"]
    assert [crate["spec"] for crate in after] == [
        {"width": 5, "height": 6},
        {"width": 9, "height": 4},
    ]
    kubectl("create", "-f", "-", given=[a_crate(f"{group}/v2", "newer", width=1, height=1)])
    refused = kubectl.refused("get", v1)
    assert f"conversion webhook for {group}/v2, Kind=Crate failed" in refused, refused
    kubectl("delete", crd, "--timeout=15s")
