"""`mooring image` as a person runs it."""

import subprocess
import sys
from pathlib import Path

from tests.fakes.image_archives import Member, a_file, a_tar, as_tar, docker_files


def mooring(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "mooring", "image", *map(str, arguments)]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)  # noqa: S603  ours


def test_imported_listed_and_removed(memory_disk: Path) -> None:
    source, data = memory_disk / "busybox.tar", ("--root-dir", memory_disk / "node")
    (memory_disk / "node").mkdir()  # else it is said that it is made
    layer = a_tar(a_file("bin/sh", "x" * 2000), Member("dev/null", "character", device=(1, 3)))
    source.write_bytes(as_tar(docker_files([layer])))
    imported = mooring("import", "busybox", source, *data)
    assert imported.returncode == 0
    assert imported.stdout.startswith("imported docker.io/library/busybox:latest (")
    assert imported.stdout.endswith(", 2kB)\n")
    assert imported.stderr.splitlines() == [
        "docker archive, 1 layer",
        "layer 1: 2kB, without 1 device node",
    ]
    assert "docker.io/library/busybox:latest" in mooring("ls", *data).stdout
    assert mooring("rm", "busybox", *data).stdout == "removed docker.io/library/busybox:latest\n"
    assert mooring("ls", *data).stdout.count("\n") == 1


def test_a_refusal_is_one_line(memory_disk: Path) -> None:
    source = memory_disk / "hostile.tar"
    source.write_bytes(a_tar(a_file("../../etc/passwd")))
    (memory_disk / "node").mkdir()
    refused = mooring("import", "x", source, "--root-dir", memory_disk / "node")
    assert refused.returncode == 1
    assert refused.stderr == (
        f"mooring: cannot import {source}: an entry leads out of its root: ../../etc/passwd\n"
    )
