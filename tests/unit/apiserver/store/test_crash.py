"""kill -9 at any moment: what was acknowledged is there, and revisions go on from it.

MOORING_KILL_ROUNDS sets how often the writer is killed; the database is the same over all rounds.
"""

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from random import Random
from subprocess import PIPE, Popen

import pytest

from mooring.apiserver.store.sqlite import SqliteStore
from tests.fakes.clock import VirtualClock
from tests.unit.apiserver.store.crash_writer import TABLE

ROOT = Path(__file__).parents[4]
ROUNDS = int(os.environ.get("MOORING_KILL_ROUNDS", "6"))

Versions = dict[str, int]
"""The newest revision by name; 0: removed."""


def write_and_die(path: Path, seed: int, after: int) -> tuple[Versions, int]:
    """Run the writer, kill it after so many acknowledgements; all of them, and the highest."""
    command = [
        sys.executable,
        "-m",
        "tests.unit.apiserver.store.crash_writer",
        str(path),
        str(seed),
    ]
    with Popen(command, cwd=ROOT, stdout=PIPE) as writer:  # noqa: S603 - our own file
        assert writer.stdout is not None
        lines = [writer.stdout.readline() for _ in range(after)]
        writer.kill()
        lines += writer.stdout.readlines()
    assert lines[after - 1], "the writer ended by itself"
    told = [line.decode().split() for line in lines if line.endswith(b"\n")]
    versions = {name: int(revision) if what == "put" else 0 for name, revision, what in told}
    return versions, max(int(revision) for _, revision, _ in told)


def read(store: SqliteStore, names: Iterable[str]) -> Versions:
    versions: Versions = {}
    for name in names:
        found = store.get(TABLE, name)
        versions[name] = 0 if found is None else found.revision
        if found is not None:
            assert found.value.startswith(b"%b at %d " % (name.encode(), found.revision))
    return versions


@pytest.mark.timeout(60 + 10 * ROUNDS)
async def test_every_acknowledged_write_survives_kill_9(tmp_path: Path) -> None:
    path = tmp_path / "mooring.db"
    rng = Random(4)  # noqa: S311 - repeatable, not secret
    expected: Versions = {}
    for seed in range(ROUNDS):
        acknowledged, highest = write_and_die(path, seed, after=rng.randint(1, 3000))
        expected |= acknowledged
        store = SqliteStore.open(path, VirtualClock())
        assert store.revision >= highest
        found = read(store, expected)
        other = {name: found[name] for name in expected if found[name] != expected[name]}
        # A writer may die with one write committed and not told: then that is what there is.
        assert all(revision == 0 or revision > expected[name] for name, revision in other.items())
        writers = [name.partition("/")[0] for name in other]
        assert len(writers) == len(set(writers))
        expected = found
        await store.close()
