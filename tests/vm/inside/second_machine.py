"""A second machine on the same wire, which joins as a node, and may lose its power."""

import subprocess
from pathlib import Path

from tests.clients.kubectl import Kubectl
from tests.clients.nodes import ServerWithNode
from tests.fakes.real_server import command
from tests.vm.inside.programs import eventually, sh
from tests.vm.machine import SHARED, address_of
from tests.vm.words import KILL_SECOND, START_SECOND

NAME = "second"
OURS = address_of(1)  # the first machine's, for the second
BOOT_SECONDS = 600
TREE = Path(__file__).parents[3]


class SecondMachine:
    def __init__(self, server: ServerWithNode) -> None:
        self._server = server

    def boot(self) -> None:
        print(START_SECOND, flush=True)  # noqa: T201  on the console
        eventually((SHARED / "second-is-up").exists, "the second machine is up", BOOT_SECONDS)
        sh(f"ping -c 1 -W 30 {address_of(2)}" if _has_ping() else "true")

    def join(self, kubectl: Kubectl) -> None:
        """By the command that `mooring token create` prints."""
        url = f"https://{OURS}:{self._server.port}"
        words = ("--data-dir", str(self._server.data_dir), "--node", NAME, "--server", url)
        ran = subprocess.run(  # noqa: S603  our own program
            command("token", "create", *words),
            capture_output=True,
            text=True,
            timeout=BOOT_SECONDS,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        line = ran.stdout.strip().removeprefix("mooring ")
        flags = f"--root-dir /run/node --host-rootfs --listen {address_of(2)}"
        unfinished = SHARED / "join.unfinished"
        unfinished.write_text(f"cd {TREE} && .venv/bin/python -m mooring {line} {flags}\n")
        unfinished.rename(SHARED / "join")
        eventually(
            lambda: self._is_ready(kubectl), f"the node is ready: {self.said()}", BOOT_SECONDS
        )

    def lose_power(self) -> None:
        print(KILL_SECOND, flush=True)  # noqa: T201  on the console

    def said(self) -> str:
        log = SHARED / "second.log"
        return log.read_text() if log.exists() else ""

    def _is_ready(self, kubectl: Kubectl) -> bool:
        path = '{.status.conditions[?(@.type=="Ready")].status}'
        return kubectl.run("get", "node", NAME, "-o", f"jsonpath={path}").out == "True"


def _has_ping() -> bool:
    return any(Path(place, "ping").exists() for place in ("/bin", "/usr/bin"))
