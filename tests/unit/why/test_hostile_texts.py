"""Whoever may make a pod writes texts that end in commands which others paste."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mooring.why.answer import Ref
from mooring.why.explain import explain
from mooring.why.told import told
from tests.unit.why.test_explain import DATA, WEB, pod, ready_node, said
from tests.unit.why.worlds import NOW, bound_claim, bound_volume, claim, whole_world

NAMES = (
    "x}\nEOF\ntouch marker\ncat <<'EOF'\n",
    "x; touch marker",
    "$(touch marker)",
    "x$/d\n1e touch marker\n#",
    "'; touch marker; '",
    "x\x1b]0;title\x07\r",
)
HOSTNAME = "kubernetes.io/hostname"
KUBECTL = """#!/bin/sh
case "$*" in *yaml*) echo "spec:";; *) cat >/dev/null;; esac
"""


def _with(volume: dict[str, Any]) -> dict[str, Any]:
    return pod(volumes=[{"name": "v", **volume}], nodeName="n1", status={"phase": "Pending"})


def _secret(name: str, key: str) -> dict[str, Any]:
    return _with({"secret": {"secretName": name, "items": [{"key": key, "path": "p"}]}})


def _worlds(text: str) -> dict[str, tuple[Ref, list[dict[str, Any]]]]:
    missing = f'MountVolume.SetUp failed for volume "v" : secret "{text}" not found'
    no_key = f"references non-existent secret key: {text}"
    named = 'secret "s" not found'
    quota = f"exceeded quota: {text}, requested: pods=1, used: pods=2, limited: pods=2"
    terms = [{"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": [text]}]}]
    elsewhere = bound_volume(nodeAffinity={"required": {"nodeSelectorTerms": terms}})
    ephemeral: dict[str, Any] = {"ephemeral": {"volumeClaimTemplate": {"spec": {}}}}
    return {
        "claimName": (WEB, [_with({"persistentVolumeClaim": {"claimName": text}})]),
        "volumeName": (DATA, [claim(volumeName=text)]),
        "secretName": (WEB, [_secret(text, "k"), said("Pod", "web", "FailedMount", missing)]),
        "key": (WEB, [_secret("s", text), said("Pod", "web", "FailedMount", named)]),
        "no key": (WEB, [_secret("s", text), said("Pod", "web", "FailedMount", no_key)]),
        "node of a volume": (WEB, [pod(), bound_claim(), elsewhere, ready_node()]),
        "quota": (WEB, [_with(ephemeral), said("Pod", "web", "FailedBinding", quota)]),
    }


@pytest.mark.parametrize("field", _worlds(""))
@pytest.mark.parametrize("text", NAMES)
def test_what_is_pasted_runs_nothing_that_an_object_says(
    text: str, field: str, tmp_path: Path
) -> None:
    (tmp_path / "kubectl").write_text(KUBECTL)
    (tmp_path / "kubectl").chmod(0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    subject, docs = _worlds(text)[field]
    answer = explain(whole_world(*docs), subject, NOW)
    lines = list(told(answer, NOW))
    assert all(line.isprintable() for line in lines), lines
    for fix in answer.fixes:
        subprocess.run(  # noqa: S603  as somebody would paste it
            ["/bin/sh", "-c", fix.command], cwd=tmp_path, env=env, check=False, capture_output=True
        )
        assert not (tmp_path / "marker").exists(), fix


@pytest.mark.parametrize("field", _worlds(""))
def test_a_plain_name_has_its_command(field: str) -> None:
    subject, docs = _worlds("plain-name.1")[field]
    assert explain(whole_world(*docs), subject, NOW).fixes


def test_a_key_cannot_add_to_the_patch_of_a_secret() -> None:
    subject, docs = _worlds('a":"b"},"metadata":{"finalizers":["c.d/e"]},"x":{"y')["no key"]
    answer = explain(whole_world(*docs), subject, NOW)
    assert not [fix for fix in answer.fixes if "finalizers" in fix.command]
