"""fsGroup on 100,000 files, beside `chgrp -R` on the same ones."""

import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from mooring.host import ownership
from mooring.host.ownership import ChangePolicy, FsGroup

Row = tuple[str, str, str]

DIRECTORIES = 100
FILES = 1_000  # in each
ROUNDS = 5
FRESH, OURS, THEIRS = 4_000, 4_001, 4_002  # groups


def _fill(root: Path) -> None:
    for number in range(DIRECTORIES):
        directory = root / f"directory-{number:03}"
        directory.mkdir()
        for file in range(FILES):
            os.mknod(directory / f"file-{file:04}", 0o644)


def _run(*argv: object) -> None:
    program = shutil.which(str(argv[0])) or str(argv[0])
    subprocess.run([program, *map(str, argv[1:])], check=True)  # noqa: S603  our own words


def _seconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def _measure(root: Path) -> dict[str, list[float]]:
    """All in turn in each round, so that what else the machine does falls upon all of them."""
    took: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        _run("chmod", "-R", "u=rwX,go=rX,g-s", root)
        _run("chgrp", "-R", FRESH, root)
        for measure, call in (
            ("chgrp", lambda: _run("chgrp", "-R", THEIRS, root)),
            ("chmod", lambda: _run("chmod", "-R", "ug+rwX", root)),
            ("undo", lambda: _run("chmod", "-R", "g-w", root)),
            ("all", lambda: ownership.apply(root, FsGroup(OURS))),
            ("nothing", lambda: ownership.apply(root, FsGroup(OURS))),
            ("group", lambda: ownership.apply(root, FsGroup(FRESH))),
            (
                "spared",
                lambda: ownership.apply(root, FsGroup(FRESH, policy=ChangePolicy.ON_ROOT_MISMATCH)),
            ),
        ):
            took.setdefault(measure, []).append(_seconds(call))
    return took


def run() -> list[Row]:
    if os.geteuid() != 0:
        return [("fsGroup walk", "-", "needs root: files are given to other groups")]
    with tempfile.TemporaryDirectory(prefix="mooring-bench-") as name:
        _fill(Path(name))
        took = _measure(Path(name))

    def beside(measure: str) -> str:
        ratio = statistics.median(
            ours / theirs for ours, theirs in zip(took[measure], took["chgrp"], strict=True)
        )
        return f"{ratio:.2f}x chgrp -R, target 1.5x"

    def seconds(measure: str) -> str:
        return f"{statistics.median(took[measure]):.3f} s"

    files = f"{DIRECTORIES * FILES:,} files"
    return [
        (f"chgrp -R, {files}", seconds("chgrp"), f"median of {ROUNDS}, in turn with the others"),
        ("chmod -R, the same files", seconds("chmod"), "the other half of what fsGroup asks for"),
        ("fsGroup, Always: group and mode of each", seconds("all"), beside("all")),
        ("fsGroup, Always: group of each", seconds("group"), beside("group")),
        ("fsGroup, Always: nothing to change", seconds("nothing"), beside("nothing")),
        (
            "fsGroup, OnRootMismatch: root is right",
            f"{statistics.median(took['spared']) * 1000:.2f} ms",
            "target 5 ms",
        ),
    ]
