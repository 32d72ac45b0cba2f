"""Proofs out of files that others keep up to date."""

import os
from pathlib import Path

import pytest

from mooring.client.credentials import Given, Held, InFile, Proof
from mooring.errors import UsageError
from mooring.model.secret_value import SecretValue


def replace(path: Path, text: str) -> None:
    """As kubelets do it: a new file takes the name of the old one."""
    fresh = path.with_name("fresh")
    fresh.write_text(text)
    fresh.replace(path)


async def token_of(source: Held) -> str:
    proof = await source.proof()
    assert proof.token is not None
    return proof.token.reveal().decode()


async def test_a_token_that_is_rotated_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("first\n")
    source = Held(InFile(path, "token"))
    assert await token_of(source) == "first"
    replace(path, "other\n")
    assert await token_of(source) == "other"


async def test_a_token_behind_a_link_is_read_again(tmp_path: Path) -> None:
    """Volumes of kubelets change by pointing a link elsewhere."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "token").write_text(name)
    (tmp_path / "data").symlink_to("one")
    source = Held(InFile(tmp_path / "data" / "token", "token"))
    assert await token_of(source) == "one"
    (tmp_path / "fresh").symlink_to("two")
    (tmp_path / "fresh").replace(tmp_path / "data")
    assert await token_of(source) == "two"


def test_a_file_that_has_not_changed_is_not_read_again(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("first")
    file = InFile(path, "token")
    file.read()
    before = path.stat()
    path.write_text("other")  # in place, of the same size, and as if it had always been so
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.read() == b"first"


async def test_a_token_that_disappears_is_used_on(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("first")
    source = Held(InFile(path, "token"))
    await source.proof()
    path.unlink()
    assert await token_of(source) == "first"


async def test_a_token_that_was_never_there_is_a_mistake(tmp_path: Path) -> None:
    source = Held(InFile(tmp_path / "token", "tokenFile"))
    with pytest.raises(UsageError, match=r"cannot read the tokenFile .*/token: No such file"):
        await source.proof()


async def test_a_refused_proof_has_a_better_one_when_the_file_has_changed(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("first")
    source = Held(InFile(path, "token"))
    refused = await source.proof()
    assert not source.has_better(refused)
    replace(path, "other")
    assert source.has_better(refused)


async def test_an_empty_token_is_none() -> None:
    assert await Held(Given(SecretValue(b" \n"))).proof() == Proof()


def test_proofs_do_not_show() -> None:
    assert "hidden" not in repr(Proof(SecretValue(b"hidden"), b"C", SecretValue(b"hidden")))
