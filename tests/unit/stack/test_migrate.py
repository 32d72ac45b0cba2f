"""All objects from SQLite to etcd and back: complete, compared, and never half."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from mooring.apiserver.documents.document import to_put
from mooring.apiserver.kinds.registry import builtin
from mooring.apiserver.store.contract import Decide
from mooring.apiserver.store.database import Database
from mooring.apiserver.store.sqlite import SqliteStore
from mooring.clock import RealClock
from mooring.errors import EtcdError, UsageError
from mooring.stack.config import EtcdSettings
from mooring.stack.etcd import open_etcd
from mooring.stack.migrate import to_etcd, to_sqlite
from mooring.upkeep.place import MIGRATED
from tests.fakes.etcd.data import Data
from tests.fakes.etcd.serve import serving_etcd

CLOCK = RealClock()

DEFINITION = {
    "metadata": {"name": "boats.harbor.example.com"},
    "spec": {
        "group": "harbor.example.com",
        "names": {"plural": "boats", "kind": "Boat"},
        "versions": [
            {"name": "v1", "served": True, "storage": True},
            {"name": "v1beta1", "served": True, "storage": False},
        ],
    },
}
OBJECTS: dict[tuple[str, str], dict[str, object]] = {
    ("namespaces", "default"): {"metadata": {"name": "default"}},
    ("persistentvolumeclaims", "default/a"): {"metadata": {"name": "a"}, "spec": {"x": "ü"}},
    ("events", "default/e"): {"metadata": {"name": "e"}},
    ("apiextensions.k8s.io/customresourcedefinitions", "boats.harbor.example.com"): DEFINITION,
    ("harbor.example.com/boats", "default/b"): {"metadata": {"name": "b"}, "spec": {}},
}

Seen = dict[tuple[str, str], dict[str, object]]


async def filled(directory: Path, more: int = 0) -> Seen:
    """A database with some history; what is in it."""
    store = SqliteStore.open(directory / "mooring.db", CLOCK)
    for number in range(3 + more):
        await store.write("nodes", "gone", storing({"metadata": {"name": str(number)}}))
    for (table, name), doc in OBJECTS.items():
        await store.write(table, name, storing(doc))
    seen = all_of(store)
    await store.close()
    return seen


def storing(doc: Mapping[str, object]) -> Decide:
    return lambda _: to_put(dict(doc))


def all_of(store: SqliteStore) -> Seen:
    return {
        (table, entry.name): json.loads(entry.value)
        for table in store.tables()
        for entry in store.range(table).entries
    }


def without_versions(seen: Seen) -> Seen:
    for doc in seen.values():
        metadata = doc["metadata"]
        assert isinstance(metadata, dict)
        del metadata["resourceVersion"]
    return seen


async def test_there_and_back_again(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    before = await filled(here, more=20)
    data = Data()
    async with serving_etcd(data) as url:
        settings = EtcdSettings((url,))
        done = await to_etcd(here, settings, CLOCK)
        assert done.objects == 6
        assert done.kept is not None
        assert done.kept.exists()
        assert not (here / "mooring.db").exists()
        highest = max(int(doc["metadata"]["resourceVersion"]) for doc in before.values())  # type: ignore[index]
        assert data.revision >= highest + 6  # no version of before comes again
        assert len(data.granted) == 1  # of the event
        back = await to_sqlite(there, settings, CLOCK)
    store = SqliteStore.open(there / "mooring.db", CLOCK)
    assert store.revision == back.revision == data.revision
    after = all_of(store)
    await store.write("nodes", "later", lambda _: to_put({"metadata": {"name": "later"}}))
    await store.close()
    assert without_versions(after) == without_versions(before)
    store = SqliteStore.open(there / "mooring.db", CLOCK)
    assert len(all_of(store)) == 7
    await store.close()


async def test_custom_kinds_are_named_in_etcd(tmp_path: Path) -> None:
    await filled(tmp_path)
    data = Data()
    async with serving_etcd(data) as url:
        await to_etcd(tmp_path, EtcdSettings((url,)), CLOCK)
    stored = {
        changed.event.kv.key.decode(): changed.event.kv.value
        for changed in data.log
        if changed.event.kv.key.startswith(b"/registry/harbor")
    }
    (value,) = stored.values()
    assert list(stored) == ["/registry/harbor.example.com/boats/default/b"]
    assert json.loads(value)["apiVersion"] == "harbor.example.com/v1"
    assert json.loads(value)["kind"] == "Boat"


async def test_under_another_prefix_than_that_of_its_objects_nothing_is_shown_or_brought_back(
    tmp_path: Path,
) -> None:
    await filled(tmp_path)
    async with serving_etcd(Data()) as url:
        old, new = EtcdSettings((url,)), EtcdSettings((url,), prefix="/other")
        assert (await to_etcd(tmp_path, old, CLOCK)).kept is not None
        assert (await to_sqlite(tmp_path, old, CLOCK)).objects == 6
        (tmp_path / MIGRATED).unlink()
        await to_etcd(tmp_path, new, CLOCK)  # what is under the old one is stale from here on
        for opens in (to_sqlite(tmp_path, old, CLOCK), open_etcd(old, tmp_path, builtin(), CLOCK)):
            with pytest.raises(UsageError, match="are under /other in etcd, not under /registry"):
                await opens
        assert (await to_sqlite(tmp_path, new, CLOCK)).objects == 6


async def test_an_interrupted_run_is_finished_by_the_next(tmp_path: Path) -> None:
    await filled(tmp_path)
    data = Data()
    async with serving_etcd(data) as url:
        settings = EtcdSettings((url,))
        done = await to_etcd(tmp_path, settings, CLOCK)
        assert done.kept is not None
        done.kept.rename(tmp_path / "mooring.db")  # as if it had been stopped before its last step
        before = data.revision
        again = await to_etcd(tmp_path, settings, CLOCK)
    assert again.objects == done.objects
    assert data.revision == before


async def test_a_database_that_is_not_complete_has_not_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    before = await filled(here)
    async with serving_etcd(Data()) as url:
        await to_etcd(here, EtcdSettings((url,)), CLOCK)
        cut_at: list[str] = []
        for moment in ("stage", "commit"):

            def look(_: Database, *__: object, moment: str = moment) -> None:
                """What a SIGKILL now would leave."""
                if not (there / "mooring.db").exists():
                    cut_at.append(moment)
                shutil.copytree(there, tmp_path / moment)
                raise KeyboardInterrupt

            with monkeypatch.context() as patched:
                patched.setattr(Database, moment, look)
                with pytest.raises(KeyboardInterrupt):
                    await to_sqlite(there, EtcdSettings((url,)), CLOCK)
        assert cut_at == ["stage", "commit"]
        for moment in cut_at:
            await to_sqlite(tmp_path / moment, EtcdSettings((url,)), CLOCK)
            store = SqliteStore.open(tmp_path / moment / "mooring.db", CLOCK)
            assert all_of(store).keys() == before.keys()
            await store.close()


async def test_an_object_that_etcd_does_not_take_is_named(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "mooring.db", CLOCK)
    large = {"metadata": {"name": "large"}, "data": {"x": "x" * 1_572_700}}
    await store.write("configmaps", "default/large", storing(large))
    await store.close()
    async with serving_etcd(Data()) as url:
        with pytest.raises(EtcdError, match=r"configmaps default/large: .*request is too large"):
            await to_etcd(tmp_path, EtcdSettings((url,)), CLOCK)
    assert (tmp_path / "mooring.db").exists()


async def test_other_objects_in_etcd_are_not_mixed_with_ours(tmp_path: Path) -> None:
    await filled(tmp_path)
    data = Data()
    data.put(b"/registry/namespaces/theirs", b'{"metadata":{"name":"theirs"}}')
    async with serving_etcd(data) as url:
        with pytest.raises(UsageError, match=r"holds other objects \(namespaces theirs\)"):
            await to_etcd(tmp_path, EtcdSettings((url,)), CLOCK)
        assert (tmp_path / "mooring.db").exists()
        assert data.revision == 2
        await to_etcd(tmp_path, EtcdSettings((url,), prefix="/ours"), CLOCK)


async def test_what_is_there_is_not_overwritten(tmp_path: Path) -> None:
    await filled(tmp_path)
    async with serving_etcd(Data()) as url:
        with pytest.raises(
            UsageError, match=r"mooring.db is there: choose a --data-dir without one"
        ):
            await to_sqlite(tmp_path, EtcdSettings((url,)), CLOCK)
        with pytest.raises(UsageError, match="etcd holds nothing under /registry"):
            await to_sqlite(tmp_path / "new", EtcdSettings((url,)), CLOCK)
        assert not (tmp_path / "new" / "mooring.db").exists()
        (tmp_path / "mooring.db.migrated").touch()
        with pytest.raises(UsageError, match="of an earlier migration"):
            await to_etcd(tmp_path, EtcdSettings((url,)), CLOCK)
