"""A cluster in a child process: it is told what to do on its standard input, and ends with it.

`python -m mooring.testing.child HOME`. A line of JSON is a call of the world, and is answered with
a line; the first line in has the settings, the first line out the URL. The child also ends when its
parent was killed: its standard input ends then.
"""

import json
import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final

import msgspec

import mooring
from mooring.errors import HostError
from mooring.host.tree import remove_path
from mooring.testing.control import LEAVE_SECONDS, STOP_SECONDS, ThreadControl
from mooring.testing.errors import ClusterError, NotYet
from mooring.testing.home import DATA
from mooring.testing.settings import Settings

LOG: Final = "child.log"
STOP: Final = "stop"


class ChildControl:
    """`Control`, from the parent's side. Raises: ClusterError."""

    def __init__(self, home: Path, settings: Settings) -> None:
        self._owner = os.getpid()
        self._log = home / LOG
        self._one_call = threading.Lock()
        asked, self._asked = _pipe()
        self._answers, answers = _pipe()
        with asked, answers:
            self._process = _spawn(home, self._log, asked, answers)
        try:
            self.url = str(self._ask(msgspec.to_builtins(settings))["url"])
        except BaseException:
            self.stop()
            raise

    def call(self, method: str, /, **arguments: Any) -> Any:
        if os.getpid() != self._owner:
            raise ClusterError(
                f"the cluster belongs to process {self._owner}, of which this is a fork: here only "
                "its API can be used (apply, get, wait, kubeconfig)"
            )
        with self._one_call:
            return self._ask({"call": method, "arguments": arguments})["result"]

    def trouble(self) -> str:
        if os.getpid() != self._owner or self._process.poll() is None:
            return ""
        said = self._log.read_text(errors="replace")[-2000:] if self._log.exists() else ""
        return f"the cluster's process has ended ({self._process.returncode}): {said}".strip()

    def stop(self) -> None:
        self._end(STOP_SECONDS)

    def abandon(self) -> None:
        self._end(LEAVE_SECONDS)

    def _end(self, seconds: float) -> None:
        if os.getpid() != self._owner:
            return
        with suppress(OSError, ValueError):
            self._asked.write(json.dumps({"call": STOP}) + "\n")
            self._asked.close()
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._answers.close()

    def _ask(self, asked: Any) -> Any:
        try:
            self._asked.write(json.dumps(asked) + "\n")
            self._asked.flush()
            line = self._answers.readline()
        except (OSError, ValueError):
            line = ""
        if not line:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(LEAVE_SECONDS)
            raise ClusterError(self.trouble() or "the cluster's process does not answer")
        answer = json.loads(line)
        if "error" in answer:
            raise (NotYet if answer.get("late") else ClusterError)(answer["error"])
        return answer


def _pipe() -> tuple[IO[str], IO[str]]:
    """What is written into the second comes out of the first."""
    read, write = os.pipe()  # not inherited, but for what `Popen` is given
    return os.fdopen(read, "r"), os.fdopen(write, "w")


def _spawn(home: Path, log: Path, asked: IO[str], answers: IO[str]) -> "subprocess.Popen[bytes]":
    """With the package of this process, whichever other versions are installed."""
    package = str(Path(mooring.__file__).parent.parent)
    paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    with log.open("w") as errors:
        return subprocess.Popen(  # noqa: S603  our own program
            [sys.executable, "-m", "mooring.testing.child", str(home)],
            stdin=asked,
            stdout=answers,
            stderr=errors,
            env=environment,
            start_new_session=True,  # Ctrl-C is the parent's; it stops the child
        )


def main(home: Path) -> None:
    """The child's side; until it is told to stop, or its parent is gone."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what is printed must not be an answer
    try:
        settings = msgspec.convert(json.loads(sys.stdin.readline()), Settings)
        try:
            control = ThreadControl(home / DATA, settings)
        except ClusterError as error:
            _say(answers, {"error": str(error)})
            return
        _say(answers, {"url": control.url})
        _serve(control, answers)
        control.stop()
    finally:
        with suppress(HostError):
            remove_path(home)  # the parent may be gone


def _serve(control: ThreadControl, answers: IO[str]) -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        if asked["call"] == STOP:
            return
        try:
            _say(answers, {"result": control.call(asked["call"], **asked["arguments"])})
        except ClusterError as error:
            _say(answers, {"error": str(error), "late": isinstance(error, NotYet)})


def _say(answers: IO[str], answer: Any) -> None:
    answers.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
