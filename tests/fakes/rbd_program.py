"""A played `rbd`, first in PATH: images of pools that are files of a directory.

It lets in who has the key, and notes each run: what it was given as arguments, and the keyring.
"""

import json
import sys
from pathlib import Path
from typing import Any

import msgspec

KEY = "AQBkey=="
_PROGRAM = r"""
import json, os, sys, time
from pathlib import Path

home, argv = Path(HOME), sys.argv[1:]
verb, image = argv[0], argv[1]

def option(name):
    return argv[argv.index(name) + 1] if name in argv else None

keyring = Path(option("-k"))
text = keyring.read_text() if keyring.exists() else ""
mode = keyring.stat().st_mode & 0o777 if keyring.exists() else None
run = {"argv": argv, "keyring": text, "mode": mode, "path": str(keyring)}
with (home / "runs").open("a") as runs:
    runs.write(json.dumps(run) + "\n")
played = home / f"plays-{verb}"
if played.exists():
    plays = json.loads(played.read_text())
    if not plays["for_ever"]:
        played.unlink()
    print(plays["output"])
    if plays["code"] is not None:
        sys.exit(plays["code"])
if KEY not in text:
    print("rbd: couldn't connect to the cluster!")
    sys.exit(1)
at = home / "images" / f"{option('--pool')}-{image}"
if verb == "create":
    if at.exists():
        print(f"rbd: create error: (17) File exists")
        sys.exit(17)
    at.write_text(json.dumps({"name": image, "size": int(option("--size")) << 20}))
    if (home / "dies-after-create").exists():
        (home / "dies-after-create").unlink()
        os.kill(os.getpid(), 9)
    if (home / "hangs-after-create").exists():
        (home / "hangs-after-create").unlink()
        time.sleep(3600)
    sys.exit(0)
if not at.exists():
    print(f"rbd: error opening image {image}: (2) No such file or directory")
    sys.exit(2)
known = json.loads(at.read_text())
if verb == "info":
    print("2026-01-01 did not load config file, using default settings.", file=sys.stderr)
    print(json.dumps(known))
if verb == "status":
    print("Watchers:\n\twatcher=10.0.0.9:0/1 client.4 cookie=1" if known.get("open")
          else "Watchers: none")
if verb == "resize":
    at.write_text(json.dumps(known | {"size": int(option("--size")) << 20}))
if verb == "rm":
    at.unlink()
"""


class RbdRun(msgspec.Struct, frozen=True):
    argv: list[str]
    keyring: str
    mode: int | None
    path: str


class RbdProgram:
    def __init__(self, home: Path) -> None:
        """After: the program is in `home / "bin"`."""
        self.bin = home / "bin"
        self._home = home
        for directory in (self.bin, home / "images"):
            directory.mkdir(parents=True)
        program = self.bin / "rbd"
        content = _PROGRAM.replace("HOME", repr(str(home)), 1).replace("KEY not", f"{KEY!r} not")
        program.write_text(f"#!{sys.executable} -IS\n{content}")
        program.chmod(0o755)

    def images(self) -> dict[str, int]:
        """Sizes in MiB, by pool and image."""
        return {
            path.name: json.loads(path.read_text())["size"] >> 20
            for path in (self._home / "images").iterdir()
        }

    def opens(self, image: str) -> None:
        """Somebody has it mapped."""
        self._change(image, open=True)

    def closes(self, image: str) -> None:
        self._change(image, open=False)

    def plays(
        self, verb: str, output: str = "", code: int | None = 1, *, for_ever: bool = False
    ) -> None:
        """What the next run, or every one, prints and how it ends; None: as if nothing was."""
        doc = {"output": output, "code": code, "for_ever": for_ever}
        (self._home / f"plays-{verb}").write_text(json.dumps(doc))

    def dies_after_create(self) -> None:
        (self._home / "dies-after-create").touch()

    def hangs_after_create(self) -> None:
        (self._home / "hangs-after-create").touch()

    def runs(self) -> list[RbdRun]:
        path = self._home / "runs"
        lines = path.read_text().splitlines() if path.exists() else []
        return [msgspec.json.decode(line, type=RbdRun) for line in lines]

    def verbs(self) -> list[str]:
        return [run.argv[0] for run in self.runs()]

    def _change(self, image: str, **fields: Any) -> None:
        path = self._home / "images" / image
        path.write_text(json.dumps(json.loads(path.read_text()) | fields))
