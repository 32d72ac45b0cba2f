"""As whom a container runs."""

import errno
import os
from contextlib import nullcontext
from pathlib import Path

import pytest

from mooring.host import no_follow
from mooring.oci.contract import Owner, RunAsUser, RuntimeRefused
from mooring.oci.users import Accounts, User, read_accounts, refuse_root, resolve

ACCOUNTS = Accounts(
    passwd=(
        "root:x:0:0:root:/root:/bin/sh\nbob:x:7:8::/:\nnot an account\n+::::::\nlate:x:9:10:::"
    ),
    group="root:x:0:\nbobs:x:8:\nsingers:x:20:alice, bob\nbroken\nwheel:x:30:root\n",
)
OWNER = Owner("shop", "web", "uid-1", "main", 0)

FOUND = {
    "nobody asked for anything: root, with the groups of root": (
        RunAsUser(),
        User(0, 0, (0, 30)),
    ),
    "a name brings its number, its group, and the groups that name it": (
        RunAsUser(image_user="bob"),
        User(7, 8, (8, 20)),
    ),
    "a number brings the group and groups of its account": (
        RunAsUser(image_user="7"),
        User(7, 8, (8, 20)),
    ),
    "a number without an account is in the group of root": (
        RunAsUser(image_user="1000"),
        User(1000, 0, (0,)),
    ),
    "number and group as the image says": (RunAsUser(image_user="7:5"), User(7, 5, (5, 20))),
    "name and group by names": (RunAsUser(image_user="bob:singers"), User(7, 20, (20,))),
    "a group alone is root's": (RunAsUser(image_user=":singers"), User(0, 20, (20, 30))),
    "the last line counts without its end": (RunAsUser(image_user="late"), User(9, 10, (10,))),
    "the pod's number wins over the image's user and its group": (
        RunAsUser(image_user="bob:singers", uid=1000),
        User(1000, 0, (0,)),
    ),
    "the pod's group wins over the image's": (
        RunAsUser(image_user="bob:singers", gid=3),
        User(7, 3, (3, 20)),
    ),
    "the pod's further groups come on top, each once": (
        RunAsUser(image_user="bob", groups=(20, 40, 40)),
        User(7, 8, (8, 20, 40)),
    ),
    "the image's groups are left out when they are not wanted": (
        RunAsUser(image_user="bob", groups=(40,), with_image_groups=False),
        User(7, 8, (8, 40)),
    ),
}


@pytest.mark.parametrize(("wish", "user"), FOUND.values(), ids=FOUND)
def test_resolve(wish: RunAsUser, user: User) -> None:
    assert resolve(wish, ACCOUNTS) == user


REFUSED = {
    "a user that the image does not have": (
        RunAsUser(image_user="carol"),
        "unable to find user carol: no matching entries in passwd file",
    ),
    "a group that the image does not have": (
        RunAsUser(image_user="7:dancers"),
        "unable to find group dancers: no matching entries in group file",
    ),
    "a number that no user can have": (
        RunAsUser(image_user="4294967296"),
        "uids and gids must be in range 0-2147483647",
    ),
}


@pytest.mark.parametrize(("wish", "text"), REFUSED.values(), ids=REFUSED)
def test_refused(wish: RunAsUser, text: str) -> None:
    with pytest.raises(RuntimeRefused) as refused:
        resolve(wish, ACCOUNTS)
    assert str(refused.value) == text


WHOSE = '(pod: "web_shop(uid-1)", container: main)'
NOT_ROOT = {
    "the pod says root": (
        RunAsUser(uid=0, must_not_be_root=True),
        f"container's runAsUser breaks non-root policy {WHOSE}",
    ),
    "the pod says another, whatever the image says": (
        RunAsUser(uid=7, image_user="root", must_not_be_root=True),
        "",
    ),
    "the image says nothing, so root": (
        RunAsUser(must_not_be_root=True),
        f"container has runAsNonRoot and image will run as root {WHOSE}",
    ),
    "the image says root by number": (
        RunAsUser(image_user="0:7", must_not_be_root=True),
        f"container has runAsNonRoot and image will run as root {WHOSE}",
    ),
    "the image says another by number": (RunAsUser(image_user="7", must_not_be_root=True), ""),
    "the image says a name, which may be anybody's": (
        RunAsUser(image_user="bob:bobs", must_not_be_root=True),
        "container has runAsNonRoot and image has non-numeric user (bob), "
        f"cannot verify user is non-root {WHOSE}",
    ),
    "root may run where nobody minds": (RunAsUser(uid=0), ""),
}


@pytest.mark.parametrize(("wish", "text"), NOT_ROOT.values(), ids=NOT_ROOT)
def test_non_root(wish: RunAsUser, text: str) -> None:
    with pytest.raises(RuntimeRefused) if text else nullcontext() as refused:
        refuse_root(wish, OWNER)
    assert (str(refused.value) if refused else "") == text


def test_files_are_read_through_links_that_stay_inside(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "usr").mkdir()
    (tmp_path / "usr/passwd").write_text("bob")
    (tmp_path / "etc/passwd").symlink_to("/usr/passwd")
    assert read_accounts(tmp_path) == Accounts("bob", "")


def test_a_link_that_leads_out_finds_nothing(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "etc").mkdir(parents=True)
    (tmp_path / "secret").write_text("secret")
    (root / "etc/passwd").symlink_to("../../secret")
    (root / "etc/group").symlink_to(tmp_path / "secret")
    assert read_accounts(root) == Accounts("", "")


def test_a_pipe_in_place_of_a_file_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    os.mkfifo(tmp_path / "etc/passwd")
    with pytest.raises(RuntimeRefused, match="no file that could be a list of users"):
        read_accounts(tmp_path)


def test_an_older_kernel_reads_plain_files_and_follows_no_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(errno.ENOSYS, "no such call")

    monkeypatch.setattr(no_follow, "_open", refuse)
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/passwd").write_text("bob")
    (tmp_path / "etc/group").symlink_to("passwd")
    assert read_accounts(tmp_path) == Accounts("bob", "")
