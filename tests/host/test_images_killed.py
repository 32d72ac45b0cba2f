"""Imports and removals that are killed: the store is as before, and the next one cleans up."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mooring.oci.store import ImageStore
from tests.fakes.image_archives import a_directory, a_file, a_link, a_tar, as_tar, docker_files
from tests.host.image_disk import said
from tests.unit.plugins.cuts import CHANGES, WRITES

BASE = a_tar(a_directory("d"), a_file("d/f", "below"), a_link("l", "d"))
TOP = a_tar(a_file("d/.wh.f"), a_file("g", "above"))
MOST_CHANGES = 300


def killed_before(change: int, act: Callable[[], object]) -> bool:
    """Whether a process of its own was killed before its n-th change of a file."""
    child = os.fork()
    if child == 0:
        left = change

        def heard(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal left
            writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITES
            if event in CHANGES or event == "os.setxattr" or writes:
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        try:
            sys.addaudithook(heard)
            act()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def names(root: Path) -> set[str]:
    return {name for image in ImageStore(root).list() for name in image.names}


def is_whole(root: Path) -> bool:
    """Everything that the index names is there."""
    return all(
        layer.is_dir() and any(layer.iterdir())
        for image in ImageStore(root).list()
        for layer in image.layers
    )


def is_clean(root: Path) -> bool:
    wanted = {layer.name for image in ImageStore(root).list() for layer in image.layers}
    return {path.name for path in (root / "layers").iterdir()} == wanted and not any(
        (root / "tmp").iterdir()
    )


def test_an_import_killed_at_any_change(memory_disk: Path) -> None:
    root = memory_disk / "images"
    source, other = memory_disk / "docker.tar", memory_disk / "other.tar"
    source.write_bytes(as_tar(docker_files([BASE, TOP])))
    other.write_bytes(a_tar(a_file("other", "x")))
    ImageStore(root).import_image("other", other, said)
    before = names(root)
    for change in range(1, MOST_CHANGES):
        store = ImageStore(root)
        was_killed = killed_before(change, lambda: store.import_image("new", source, said))  # noqa: B023  run at once
        after = names(root)
        assert after in (before, before | {"docker.io/library/new:latest"})
        assert is_whole(root)
        if not was_killed:
            assert change > 20
            assert after != before
            assert is_clean(root)
            return
        ImageStore(root).import_image("other", other, said)
        assert is_clean(root)
        if after != before:
            ImageStore(root).remove("new")
    pytest.fail("it never came to its end")


def test_a_removal_killed_at_any_change(memory_disk: Path) -> None:
    root = memory_disk / "images"
    source, other = memory_disk / "docker.tar", memory_disk / "other.tar"
    source.write_bytes(as_tar(docker_files([BASE, TOP])))
    other.write_bytes(a_tar(a_file("other", "x")))
    ImageStore(root).import_image("other", other, said)
    for change in range(1, MOST_CHANGES):
        ImageStore(root).import_image("new", source, said)
        store = ImageStore(root)
        was_killed = killed_before(change, lambda: store.remove("new"))  # noqa: B023  run at once
        assert "docker.io/library/other:latest" in names(root)
        assert is_whole(root)
        if not was_killed:
            assert change > 10
            assert names(root) == {"docker.io/library/other:latest"}
            assert is_clean(root)
            return
    pytest.fail("it never came to its end")
