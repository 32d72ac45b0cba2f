"""Runs `e2e.test` and reads its report."""

import re
import subprocess
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import msgspec

from tests.conformance.obtain import Say

_SPEC = re.compile(r"^\[It\] ")
_REPORT = "junit_01.xml"
_PASSED = "\N{BULLET}"  # as Ginkgo writes it
SAID_EVERY = 120.0  # seconds between two lines about how far it is


class Verdict(msgspec.Struct, frozen=True):
    """How a run ended: names of specs, without their tags."""

    passed: tuple[str, ...]
    failed: dict[str, str]  # and the first line that says why
    declined: dict[str, int]  # why the suite itself skipped specs that were chosen, and how many
    seconds: float

    @property
    def summary(self) -> str:
        total = len(self.passed) + len(self.failed)
        return f"{len(self.passed)} of {total} passed in {self.seconds:.0f} s"


class Selection(msgspec.Struct, frozen=True):
    """Which specs: regular expressions over their whole names."""

    focus: str
    skip: str = ""
    flags: tuple[str, ...] = ()


def run_suite(
    program: Path, kubeconfig: Path, folder: Path, chosen: Selection, say: Say
) -> Verdict:
    """Run the chosen specs, and tell how far they are.

    After: `folder` has the report, and all that was printed in `output.log`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    command = [
        str(program),
        f"--kubeconfig={kubeconfig}",
        "--provider=local",
        "--num-nodes=1",
        f"--report-dir={folder}",
        f"--ginkgo.focus={chosen.focus}",
        f"--ginkgo.skip={chosen.skip}",
        "--ginkgo.no-color",
        "--ginkgo.timeout=3h",
        *chosen.flags,
    ]
    printed = folder / "output.log"
    with printed.open("w") as output:
        suite = subprocess.Popen(  # noqa: S603  a program that was built for it
            command, stdout=output, stderr=subprocess.STDOUT, cwd=folder
        )
    try:
        while not _has_ended(suite):
            say(f"  {printed.read_text().count(_PASSED)} specs have passed")
    finally:
        suite.kill()
        suite.wait()
    return read_report(folder)


def _has_ended(suite: subprocess.Popen[bytes]) -> bool:
    """Waits a while for it."""
    try:
        suite.wait(SAID_EVERY)
    except subprocess.TimeoutExpired:
        return False
    return True


def read_report(folder: Path) -> Verdict:
    """Raises: FileNotFoundError when the suite came to no end; `output.log` tells why."""
    root = ElementTree.parse(folder / _REPORT).getroot()  # noqa: S314  written by our own run
    passed, failed, seconds = [], {}, 0.0
    declined: Counter[str] = Counter()
    for suite in root.iter("testsuite"):
        seconds += float(suite.get("time", "0"))
        for case in suite.iter("testcase"):
            name = case.get("name", "")
            if case.get("status") == "passed" and _SPEC.match(name):
                passed.append(_SPEC.sub("", name))
            elif case.get("status") not in ("passed", "skipped", "pending"):
                failed[_SPEC.sub("", name)] = _first_line(case)
            elif why := _why_skipped(case):
                declined[why] += 1
    return Verdict(tuple(passed), failed, dict(declined.most_common()), seconds)


def _why_skipped(case: ElementTree.Element) -> str:
    """Empty: it was not chosen, or not skipped."""
    skipped = case.find("skipped")
    told = skipped.get("message", "") if skipped is not None else ""
    return told.partition(" - ")[2]


def _first_line(case: ElementTree.Element) -> str:
    for kind in ("failure", "error"):
        found = case.find(kind)
        if found is not None:
            text = (found.get("message") or found.text or "").strip()
            return text.splitlines()[0] if text else kind
    return str(case.get("status"))
