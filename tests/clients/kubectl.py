"""Driving a real kubectl: every call has a deadline, so one that hangs fails its test."""

import json
import os
import select
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.clients.find_kubectl import Age

Doc = dict[str, Any]

SECONDS = 20.0
GUIDE_SECONDS = 60.0  # a guide waits for pods and volumes in its own words
HELD_SECONDS = 0.7  # how long a command must go on before we call it blocked
OLDEST = (1, 20)
NEWEST = (1, 36)
WORTH_A_TRY = {Age.OLD: OLDEST, Age.USUAL: (1, 34), Age.NEW: NEWEST}


def kubectls(since: tuple[int, int] = OLDEST) -> pytest.MarkDecorator:
    """Run a test once per kubectl that can do what it needs (`since`: its first version)."""
    ages = [age for age in Age if since <= WORTH_A_TRY[age]]
    return pytest.mark.parametrize(
        "kubectl", [(age, since) for age in ages], ids=[age.value for age in ages], indirect=True
    )


class Ran(msgspec.Struct, frozen=True):
    code: int
    out: str
    err: str


class Kubectl:
    """One binary, one user, one namespace."""

    def __init__(
        self, path: Path, version: tuple[int, int], kubeconfig: Path, home: Path, namespace: str
    ) -> None:
        self.version = version
        self.namespace = namespace
        self._path = path
        self._home = home
        self._kubeconfig = kubeconfig

    def __call__(self, *arguments: str, given: object = "", **environment: str) -> str:
        """Run it to a good end; what it printed. `given` is its input, text or documents."""
        ran = self.run(*arguments, given=given, **environment)
        assert ran.code == 0, f"kubectl {' '.join(arguments)}: {ran.code}\n{ran.out}{ran.err}"
        return ran.out.rstrip("\n")

    def refused(self, *arguments: str, given: object = "") -> str:
        """Run it to a bad end; what it complained of."""
        ran = self.run(*arguments, given=given)
        assert ran.code != 0, f"kubectl {' '.join(arguments)} should fail, but: {ran.out}"
        return ran.err.rstrip("\n")

    def run(self, *arguments: str, given: object = "", **environment: str) -> Ran:
        ran = subprocess.run(  # noqa: S603  the binary under test
            self._command(arguments),
            input=given if isinstance(given, str) else json.dumps(_as_list(given)),
            env=self._environment() | environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        return Ran(ran.returncode, ran.stdout, ran.stderr)

    def shell(self, line: str, place: Path) -> Ran:
        """Run a line of a guide there; `kubectl`, `mooring` and `python` in it are those here."""
        programs = {
            "kubectl": self._command(()),
            "mooring": [sys.executable, "-m", "mooring"],
            "python": [sys.executable],
        }
        named = "\n".join(
            f'{name}() {{ {shlex.join(words)} "$@"; }}' for name, words in programs.items()
        )
        ran = subprocess.run(  # noqa: S603  a line of our own documentation
            ["/bin/bash", "-o", "pipefail", "-c", f"{named}\n{line}"],
            cwd=place,
            env=self._environment(),
            capture_output=True,
            text=True,
            timeout=GUIDE_SECONDS,
            check=False,
        )
        return Ran(ran.returncode, ran.stdout, ran.stderr)

    def doc(self, *arguments: str) -> Doc:
        """`get … -o json`."""
        return dict(json.loads(self("get", *arguments, "-o", "json")))

    def field(self, path: str, *arguments: str) -> str:
        """`get … -o jsonpath={path}`."""
        return self("get", *arguments, "-o", f"jsonpath={{{path}}}")

    @contextmanager
    def running(self, *arguments: str) -> Iterator["Going"]:
        """Start it and let it run beside the test; it is gone afterwards."""
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE}
        with self.started(*arguments, **streams, stderr=subprocess.STDOUT) as process:
            yield Going(process)

    @contextmanager
    def started(self, *arguments: str, **streams: int) -> Iterator["subprocess.Popen[bytes]"]:
        """The same, with streams of the test's own."""
        with subprocess.Popen(  # noqa: S603  the binary under test
            self._command(arguments),
            env=self._environment(),
            stdin=streams.get("stdin"),
            stdout=streams.get("stdout"),
            stderr=streams.get("stderr"),
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    def event(self, about: str, reason: str, text: str = "") -> str:
        """Wait for one that says so; the line that `kubectl get events` has of it."""
        chosen = f"--field-selector=involvedObject.name={about},reason={reason}"
        with self.running("get", "events", "-w", "--no-headers", chosen) as watching:
            return watching.line(text or reason)

    def as_user(self, kubeconfig: Path) -> "Kubectl":
        return Kubectl(self._path, self.version, kubeconfig, self._home, self.namespace)

    def in_namespace(self, namespace: str) -> "Kubectl":
        return Kubectl(self._path, self.version, self._kubeconfig, self._home, namespace)

    def _command(self, arguments: tuple[str, ...]) -> list[str]:
        return [str(self._path), f"--namespace={self.namespace}", *arguments]

    def _environment(self) -> dict[str, str]:
        return {
            "HOME": str(self._home),
            "PATH": os.environ["PATH"],
            "KUBECONFIG": str(self._kubeconfig),
        }


class Going:
    """A kubectl that runs beside the test."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._lines: list[str] = []
        self._rest = b""

    def line(self, wanted: str) -> str:
        """The next line that has `wanted` in it; earlier ones are skipped."""
        return self.line_where(lambda line: wanted in line, wanted)

    def line_where(self, fits: Callable[[str], bool], what: str) -> str:
        seen: list[str] = []
        while True:
            while self._lines:
                seen.append(self._lines.pop(0))
                if fits(seen[-1]):
                    return seen[-1]
            if not self._read():
                pytest.fail(f"no line with {what!r}, but: {seen}")

    def is_held(self) -> bool:
        """It does not end by itself (within a moment)."""
        try:
            self._process.wait(HELD_SECONDS)
        except subprocess.TimeoutExpired:
            return True
        return False

    def ends(self) -> int:
        """Its exit code, when it ends by itself."""
        try:
            return self._process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            pytest.fail("kubectl does not end")

    def _read(self) -> bool:
        assert self._process.stdout is not None
        readable, _, _ = select.select([self._process.stdout], [], [], SECONDS)
        data = os.read(self._process.stdout.fileno(), 65536) if readable else b""
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._lines += [line.decode() for line in lines]
        return bool(data)


def _as_list(given: object) -> object:
    """Several documents travel as one List."""
    if isinstance(given, list):
        return {"apiVersion": "v1", "kind": "List", "items": given}
    return given
