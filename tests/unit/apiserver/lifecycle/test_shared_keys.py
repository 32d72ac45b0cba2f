"""Whether a server's authority and keys are those of the others on the same store."""

import shutil
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from mooring.apiserver.auth.pki import open_pki
from mooring.apiserver.auth.tokens import open_role_tokens
from mooring.apiserver.kinds.config_map import CONFIG_MAP
from mooring.apiserver.lifecycle.shared_keys import RECORD, SHARED, check_shared_keys
from mooring.apiserver.store.contract import Put
from mooring.apiserver.store.memory import MemoryStore
from mooring.errors import UsageError
from tests.fakes.clock import START, VirtualClock


def with_keys(data_dir: Path) -> Path:
    """As the first start leaves it."""
    data_dir.mkdir()
    open_pki(data_dir / "pki", now=START, host_name="here")
    open_role_tokens(data_dir / "tokens.json")
    return data_dir


async def a_store(recorded: bytes) -> MemoryStore:
    store = MemoryStore(VirtualClock())
    data = msgspec.json.encode({"ca.crt": recorded.decode()})
    document = Put(b'{"metadata":{"resourceVersion":"', b'"},"data":' + data + b"}")
    await store.write(CONFIG_MAP.store_table, RECORD, lambda _: document)
    return store


@pytest.fixture
def first(tmp_path: Path) -> Path:
    return with_keys(tmp_path / "first")


async def test_the_first_server_may_make_its_own(tmp_path: Path) -> None:
    check_shared_keys(MemoryStore(VirtualClock()), tmp_path / "none yet")


async def test_a_copy_of_the_shared_files_is_enough(first: Path, tmp_path: Path) -> None:
    store = await a_store((first / "pki/ca.crt").read_bytes())
    check_shared_keys(store, first)
    second = tmp_path / "second"
    (second / "pki").mkdir(parents=True)
    for name in SHARED:
        shutil.copy2(first / name, second / name)
    check_shared_keys(store, second)


@pytest.mark.parametrize("name", SHARED)
async def test_without_one_of_them_it_is_refused_and_told_which(first: Path, name: str) -> None:
    store = await a_store((first / "pki/ca.crt").read_bytes())
    (first / name).unlink()
    with pytest.raises(UsageError, match=rf"lacks keys that they share \({name}\): copy pki/ca"):
        check_shared_keys(store, first)


async def test_another_authority_is_refused(first: Path, tmp_path: Path) -> None:
    store = await a_store((first / "pki/ca.crt").read_bytes())
    with pytest.raises(UsageError, match="has another authority than theirs"):
        check_shared_keys(store, with_keys(tmp_path / "stranger"))


async def test_a_renewed_authority_with_the_same_key_is_the_same(first: Path) -> None:
    store = await a_store((first / "pki/ca.crt").read_bytes())
    before = (first / "pki/ca.crt").read_bytes()
    open_pki(first / "pki", now=START + timedelta(days=3650), host_name="here")
    assert (first / "pki/ca.crt").read_bytes() != before
    check_shared_keys(store, first)


async def test_a_record_that_is_no_certificate_tells_nothing(first: Path) -> None:
    check_shared_keys(await a_store(b"no certificate"), first)
