"""FlexVolume drivers for tests: programs whose answers a test writes."""

import json
from pathlib import Path

from mooring.host.contract import MountOps
from mooring.plugins.flex.capabilities import Capabilities
from mooring.plugins.flex.driver import Driver
from mooring.plugins.flex.options import Options
from mooring.plugins.flex.reply import Answer, Call

NAME = "example.com/disk"
PROGRAM = """#!/bin/sh
here=${0%/*}
for word in "$@"; do printf '%s\\037' "$word"; done >> "$here/.calls"
printf '\\036' >> "$here/.calls"
if [ -e "$here/.do/$1" ]; then . "$here/.do/$1"; else echo '{"status": "Not supported"}'; fi
"""


class WrittenDriver:
    """A driver on disk. It does not support what it was given no answer for."""

    def __init__(self, directory: Path, name: str = NAME) -> None:
        self.name = name
        self.home = directory / name.replace("/", "~")
        (self.home / ".do").mkdir(parents=True)
        self.program = self.home / name.rpartition("/")[2]
        self.answers("init", status="Success")
        self.write(PROGRAM)

    def write(self, text: str) -> None:
        """Whole, under a hidden name, then renamed into place."""
        hidden = self.home / ".new"
        hidden.write_text(text)
        hidden.chmod(0o755)
        hidden.rename(self.program)

    def does(self, call: str, script: str) -> None:
        (self.home / ".do" / call).write_text(script)

    def answers(self, call: str, **reply: object) -> None:
        self.does(call, f"cat <<'END'\n{json.dumps(reply)}\nEND\n")

    def calls(self) -> list[list[str]]:
        try:
            text = (self.home / ".calls").read_text()
        except FileNotFoundError:
            return []
        return [line.split("\x1f")[:-1] for line in text.split("\x1e")[:-1]]

    def load(self, capabilities: Capabilities | None = None) -> Driver:
        return Driver(self.name, self.program, capabilities or Capabilities())


class PlayedDriver(Driver):
    """A driver whose mounts are only played."""

    def __init__(self, mounts: MountOps, capabilities: Capabilities) -> None:
        super().__init__(NAME, Path("/nowhere"), capabilities)
        self._mounts = mounts

    async def ask(self, call: Call, *arguments: str | Options) -> Answer | None:
        match call, arguments:
            case ((Call.MOUNT | Call.MOUNT_DEVICE), (str(path), *_)):
                self._mounts.mount("flex", Path(path), "tmpfs")
            case ((Call.UNMOUNT | Call.UNMOUNT_DEVICE), (str(path),)):
                if self._mounts.is_mount_point(Path(path)):
                    self._mounts.unmount(Path(path))
            case _:
                return None
        return Answer()
