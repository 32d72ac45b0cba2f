"""FlexVolume drivers for tests: programs whose answers a test writes."""

import json
from collections.abc import Mapping
from pathlib import Path

from mooring.clock import Clock
from mooring.host.contract import MountOps
from mooring.plugins.contract import VolumeError
from mooring.plugins.flex.capabilities import Capabilities
from mooring.plugins.flex.driver import Driver
from mooring.plugins.flex.drivers import Drivers
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


class PlayedDrivers(Drivers):
    """Drivers that need no directory."""

    def __init__(self, clock: Clock, *drivers: Driver) -> None:
        super().__init__(Path("/nowhere"), clock)
        self.played: dict[str, Driver] = {driver.name: driver for driver in drivers}
        self.looked.set()

    def all(self) -> Mapping[str, Driver]:
        return self.played

    def find(self, name: str) -> Driver | None:
        return self.played.get(name)

    def tell(self, name: str) -> None:
        """It has come, changed or gone."""
        self._tell(name)

    async def run(self) -> None:
        pass


class PlayedAttacher(Driver):
    """A driver that attaches; `there` is what is really attached."""

    def __init__(self, capabilities: Capabilities | None = None) -> None:
        super().__init__(NAME, Path("/nowhere"), capabilities or Capabilities())
        self.there: set[tuple[str, str]] = set()
        self.deeds: list[str] = []
        self.worst = 0  # the most nodes that one volume was on at a time
        self.errors: dict[Call, VolumeError] = {}
        self.does_before_failing = False  # the deed is done, only its answer is bad

    async def ask(self, call: Call, *arguments: str | Options) -> Answer | None:
        error = self.errors.get(call)
        if error is None or self.does_before_failing:
            self._do(call, arguments)
        if error is not None:
            raise error
        return Answer(device="/dev/played", attached=self._is_there(call, arguments))

    def _is_there(self, call: Call, arguments: tuple[str | Options, ...]) -> bool:
        match call, arguments:
            case Call.IS_ATTACHED, (Options() as options, str(node)):
                return (
                    json.loads(options.argument)["kubernetes.io/pvOrVolumeName"],
                    node,
                ) in self.there
            case _:
                return False

    def _do(self, call: Call, arguments: tuple[str | Options, ...]) -> None:
        match call, arguments:
            case Call.ATTACH, (Options() as options, str(node)):
                volume = json.loads(options.argument)["kubernetes.io/pvOrVolumeName"]
                self.there.add((volume, node))
                self.worst = max(self.worst, sum(one == volume for one, _ in self.there))
                self.deeds.append(f"attach {volume} {node}")
            case Call.DETACH, (str(volume), str(node)):
                self.there.discard((volume, node))
                self.deeds.append(f"detach {volume} {node}")
            case Call.EXPAND_VOLUME, (Options(), str(), str(new), str(old)):
                self.deeds.append(f"expand {old} {new}")
            case _:
                pass


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
