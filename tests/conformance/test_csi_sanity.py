"""Upstream's csi-sanity, on the bundled driver as a process of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conformance.obtain import CSI_SANITY, Missing, Say, obtain

SECONDS = 300
GIB = 1 << 30
PARAMETERS = "provisioning: sparse\n"
MUTABLE = "provisioning: full\n"

# What the driver does not claim: nothing; everything has to run.
UNCLAIMED: dict[str, int] = {}
# This spec of csi-sanity 5.6.0 compares topologies together with a size that its own client stores
# in one of them: it fails every driver that says where a snapshot is, which is right to say.
DEFECT = "should succeed when creating a snapshot with accessibility requirements"
# csi-sanity's own switch for the limit of volumes, which the limited driver turns on.
NO_LIMIT = "testnodevolumeattachlimit not enabled"

RUNS = {
    "file systems": ((), (), {**UNCLAIMED, NO_LIMIT: 1}),
    "block devices": ((), ("--csi.testvolumeaccesstype", "block"), {**UNCLAIMED, NO_LIMIT: 1}),
    "a limited number of volumes": (
        ("--max-volumes", "3"),
        ("--csi.testnodevolumeattachlimit",),
        UNCLAIMED,
    ),
}


@pytest.fixture(scope="session")
def sanity(say: Say) -> Path:
    if os.geteuid() != 0:
        pytest.skip("needs root: volumes are mounted")
    if not Path("/dev/loop-control").exists():
        pytest.skip("needs loop devices: there is no /dev/loop-control")
    try:
        return obtain(CSI_SANITY, say)
    except Missing as reason:
        pytest.skip(f"no csi-sanity: {reason}")


@contextmanager
def driver(place: Path, flags: Sequence[str]) -> Iterator[str]:
    """`mooring driver`; gives its endpoint."""
    endpoint = f"unix://{place / 'csi.sock'}"
    command = [
        *(sys.executable, "-m", "mooring", "driver", "--endpoint", endpoint, "--node-id", "n1"),
        *("--state-dir", str(place / "state"), *flags),
    ]
    with (
        (place / "driver.log").open("wb") as log,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log) as process,  # noqa: S603  our own program
    ):
        try:
            assert process.stdout is not None
            assert b"serving" in process.stdout.readline(), (place / "driver.log").read_text()
            yield endpoint
        finally:
            process.terminate()
            assert process.wait(30) == 0


@pytest.mark.parametrize(("of_driver", "of_sanity", "unclaimed"), RUNS.values(), ids=RUNS)
def test_everything_passes(
    sanity: Path,
    say: Say,
    tmp_path_factory: pytest.TempPathFactory,
    of_driver: tuple[str, ...],
    of_sanity: tuple[str, ...],
    unclaimed: dict[str, int],
) -> None:
    place = tmp_path_factory.mktemp("csi")
    (place / "parameters.yaml").write_text(PARAMETERS)
    (place / "mutable.yaml").write_text(MUTABLE)
    with driver(place, of_driver) as endpoint:
        command = [
            *(str(sanity), "--csi.endpoint", endpoint, "--ginkgo.no-color"),
            *("--csi.mountdir", str(place / "mount"), "--csi.stagingdir", str(place / "staging")),
            *("--csi.testvolumesize", str(GIB), "--csi.testvolumeexpandsize", str(GIB + GIB // 4)),
            *("--csi.testvolumeparameters", str(place / "parameters.yaml")),
            *("--csi.testvolumemutableparameters", str(place / "mutable.yaml")),
            *("--ginkgo.json-report", str(place / "report.json"), *of_sanity),
        ]
        ran = subprocess.run(  # noqa: S603  a program of this suite's
            command, capture_output=True, text=True, check=False, timeout=SECONDS
        )
    states = _states(place / "report.json")
    counts = {state: len(names) for state, names in states.items()}
    say(f"csi-sanity {CSI_SANITY.version}: {counts}")
    assert states.get("failed", []) == [DEFECT], ran.stdout[-5000:]
    assert ran.stdout.count("sizeCache: 0,") == 1, ran.stdout[-5000:]
    skipped = states.get("skipped", [])
    assert {reason: skipped.count(reason) for reason in skipped} == unclaimed
    kinds = ("volumes", "snapshots", "groups")
    assert [left for kind in kinds for left in (place / "state" / kind).iterdir()] == []


def _states(report: Path) -> dict[str, list[str]]:
    """By state: the names of its specs; of those that were skipped, the reasons."""
    states: dict[str, list[str]] = {}
    for spec in json.loads(report.read_text())[0]["SpecReports"]:
        told = spec["LeafNodeText"]
        if spec["State"] == "skipped":
            told = spec["Failure"]["Message"]
        states.setdefault(spec["State"], []).append(told)
    return states
