"""`mooring backup` and `mooring restore`, beside a running server and after all kinds of ends."""

import json
import os
import select
import stat
import subprocess
import tarfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random

import pytest

from tests.clients.csi import short_directory
from tests.clients.kubectl import Kubectl
from tests.clients.manifests import Doc, a_config_map
from tests.clients.mooring_command import done, refused
from tests.clients.nodes import ServerWithNode, need_root, server_with_node
from tests.clients.pods import Pods, a_script, mounting, of_claim
from tests.clients.test_down import SLEEPS, a_loop_claim
from tests.fakes.real_server import RealServer, command

HERE = "/api/v1/namespaces/default/configmaps"


def create(server: RealServer, name: str) -> int:
    answer = server.ask("POST", HERE, a_config_map(name))
    assert answer.code == 201, answer.body
    return int(answer.doc["metadata"]["resourceVersion"])


def names(server: RealServer) -> set[str]:
    return {item["metadata"]["name"] for item in server.ask("GET", HERE).doc["items"]}


def manifest_of(file: Path) -> Doc:
    with tarfile.open(file) as archive:
        found = archive.extractfile("manifest.json")
        assert found is not None
        return dict(json.loads(found.read()))


@contextmanager
def writing(server: RealServer) -> Iterator[list[str]]:
    """Somebody creates one object after the other; what was acknowledged."""
    acknowledged: list[str] = []
    stop = threading.Event()
    failures: list[BaseException] = []

    def write() -> None:
        number = 0
        try:
            while not stop.is_set():
                number += 1
                create(server, f"written-{number}")
                acknowledged.append(f"written-{number}")
        except BaseException as error:  # noqa: BLE001  told by the test
            failures.append(error)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield acknowledged
    finally:
        stop.set()
        thread.join()
    assert failures == []


def test_beside_a_running_server_it_has_all_that_was_acknowledged_and_no_write_fails(
    own_server: RealServer, tmp_path: Path
) -> None:
    for number in range(50):
        create(own_server, f"before-{number}")
    file = tmp_path / "one.tar"
    with writing(own_server) as acknowledged:
        while len(acknowledged) < 20:
            pass
        there = set(acknowledged)
        said = done("backup", file, "--data-dir", own_server.data_dir)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [name for name in os.listdir(tmp_path) if name.startswith(".")] == []
    assert manifest_of(file)["has_volumes"] is False
    assert said.startswith(f"{file}: ")

    restored = RealServer(tmp_path / "restored")
    said = done("restore", file, "--data-dir", restored.data_dir)
    assert f"to {restored.data_dir}\n" in said
    restored.start()
    try:
        assert there <= names(restored)
        assert {f"before-{number}" for number in range(50)} <= names(restored)
        assert restored.token() == own_server.token()  # the old kubeconfigs work
        assert create(restored, "later") > create(own_server, "later")
    finally:
        restored.stop()


@pytest.mark.timeout(180)
def test_killed_at_any_moment_nothing_of_it_stays_after_the_next_one(
    own_server: RealServer, tmp_path: Path
) -> None:
    for number in range(50):
        create(own_server, f"before-{number}")
    own_server.stop()
    draw = Random(13)  # noqa: S311  moments
    place = tmp_path / "place"
    place.mkdir()
    file = place / "one.tar"
    backup = ("backup", str(file), "--data-dir", str(own_server.data_dir))
    killed_within(backup, draw)
    done(*backup)
    assert os.listdir(place) == ["one.tar"]
    restore = ("restore", str(file), "--data-dir", str(place / "restored"))
    killed_within(restore, draw)
    if not (place / "restored").exists():
        done(*restore)
    assert sorted(os.listdir(place)) == ["one.tar", "restored"]
    reset = ("reset", "--yes", "--data-dir", str(place / "restored"))
    killed_within(reset, draw)
    if (place / "restored").exists():
        done(*reset)
    assert os.listdir(place) == ["one.tar"]


def killed_within(words: tuple[str, ...], draw: Random) -> None:
    """Six times, each at another moment of the half second that the command takes."""
    for _ in range(6):
        run, silent = command(*words), subprocess.DEVNULL
        with subprocess.Popen(run, stdout=silent, stderr=silent) as process:  # noqa: S603
            with suppress(subprocess.TimeoutExpired):
                process.wait(draw.uniform(0.2, 0.7))
            process.kill()


def test_after_kill_9_and_after_a_clean_end(own_server: RealServer, tmp_path: Path) -> None:
    create(own_server, "first")
    own_server.kill()
    done("backup", tmp_path / "killed.tar", "--data-dir", own_server.data_dir)
    own_server.start()
    create(own_server, "second")
    own_server.stop()
    done("backup", tmp_path / "stopped.tar", "--data-dir", own_server.data_dir)
    for file, wanted in (("killed", {"first"}), ("stopped", {"first", "second"})):
        restored = RealServer(tmp_path / file)
        done("restore", tmp_path / f"{file}.tar", "--data-dir", restored.data_dir)
        restored.start()
        assert wanted <= names(restored)
        restored.stop()


@pytest.fixture
def file(own_server: RealServer, tmp_path: Path) -> Path:
    """Of a server that has stopped."""
    create(own_server, "kept")
    own_server.stop()
    done("backup", tmp_path / "one.tar", "--data-dir", own_server.data_dir)
    return tmp_path / "one.tar"


def cut_in_half(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def cut_before_the_manifest(file: Path) -> None:
    with tarfile.open(file) as archive:
        os.truncate(file, archive.getmember("manifest.json").offset)


def change_a_byte(file: Path) -> None:
    with tarfile.open(file) as archive:
        at = archive.getmember("data/mooring.db").offset_data + 5000
    with file.open("r+b") as opened:
        opened.seek(at)
        (byte,) = opened.read(1)
        opened.seek(at)
        opened.write(bytes([byte ^ 1]))


def change_the_manifest(file: Path) -> None:
    content = file.read_bytes()
    begin, end, rest = content.rpartition(b'"has_volumes": false')
    assert end
    file.write_bytes(begin + b'"has_volumes":  true' + rest)


def something_else(file: Path) -> None:
    file.write_bytes(b"a text")


SPOILT = {
    "cut in half": (cut_in_half, "is no whole backup of mooring: it was cut"),
    "cut before the manifest": (cut_before_the_manifest, "is no whole backup of mooring"),
    "a byte changed": (change_a_byte, "'data/mooring.db' is not what was written"),
    "the manifest changed": (change_the_manifest, "manifest.json is not what was written"),
    "something else": (something_else, "is no whole backup of mooring"),
    "empty": (lambda file: file.write_bytes(b""), "is no whole backup of mooring"),
}


@pytest.mark.parametrize(("spoil", "told"), SPOILT.values(), ids=SPOILT)
def test_a_spoilt_file_is_refused_and_nothing_is_left(
    file: Path, tmp_path: Path, spoil: Callable[[Path], object], told: str
) -> None:
    spoil(file)
    before = sorted(os.listdir(tmp_path))
    assert told in refused("restore", file, "--data-dir", tmp_path / "restored")
    assert sorted(os.listdir(tmp_path)) == before


def test_restoring_over_something_is_refused(
    file: Path, own_server: RealServer, tmp_path: Path
) -> None:
    own_server.start()
    line = refused("restore", file, "--data-dir", own_server.data_dir)
    assert line == (
        f"{own_server.data_dir} is a data directory already: restore into an empty or missing "
        "--data-dir"
    )
    assert "kept" in names(own_server)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "photo").touch()
    assert "is not empty" in refused("restore", file, "--data-dir", tmp_path / "other")
    assert "is no directory" in refused("restore", file, "--data-dir", file)
    assert "No such file" in refused("restore", tmp_path / "no", "--data-dir", tmp_path / "new")


def test_on_another_machine_and_under_another_node_name_it_says_what_differs(
    file: Path, tmp_path: Path
) -> None:
    with tarfile.open(file) as archive:
        members = [(info, archive.extractfile(info)) for info in archive]
        contents = {info.name: opened.read() for info, opened in members if opened}
    changed = json.loads(contents["manifest.json"])
    changed["machine"] = {"host": "elsewhere", "id": "0" * 32}
    changed["nodes"] = ["elsewhere"]
    from mooring.upkeep.manifest import seal_of

    contents["manifest.json"] = json.dumps(changed).encode()
    contents["manifest.sha256"] = seal_of(contents["manifest.json"])
    with tarfile.open(file, "w") as archive:
        for info, _ in members:
            info.size = len(contents[info.name])
            with (tmp_path / "piece").open("w+b") as piece:
                piece.write(contents[info.name])
                piece.seek(0)
                archive.addfile(info, piece)
    said = done("restore", file, "--data-dir", tmp_path / "restored")
    assert "it was made on another machine (elsewhere): " in said
    assert "its node was elsewhere, and here it would be " in said
    assert "--node-name elsewhere" in said


def test_a_full_disk_is_told_in_one_line_and_nothing_is_left(
    own_server: RealServer, tmp_path: Path
) -> None:
    need_root()
    create(own_server, "one")
    disk = tmp_path / "small"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(disk)]
    subprocess.run(mount, check=True)  # noqa: S603  root's own
    try:
        old = disk / "one.tar"
        old.write_text("the older one")
        line = refused("backup", old, "--data-dir", own_server.data_dir)
        assert line == f"there is no room for {old}: free some, or choose another disk"
        assert os.listdir(disk) == ["one.tar"]
        assert old.read_text() == "the older one"
    finally:
        subprocess.run(["umount", disk], check=True)  # noqa: S603, S607


def test_places_that_cannot_be(own_server: RealServer, tmp_path: Path) -> None:
    data = own_server.data_dir
    inside = refused("backup", data / "b.tar", "--data-dir", data)
    assert inside.endswith("b.tar is in the data directory, and would be lost with it")
    missing = refused("backup", tmp_path / "no" / "b.tar", "--data-dir", data)
    assert "No such file or directory" in missing
    assert "there is no" in refused("backup", tmp_path / "b.tar", "--data-dir", tmp_path / "none")


@pytest.fixture
def server(needs_runtime: None) -> Iterator[ServerWithNode]:
    with short_directory() as place, server_with_node(place / "d") as running:
        yield running


def until_it_runs(kubectl: Kubectl) -> str:
    """What the volume holds; the status of the pod is that of the time of the backup at first."""
    until = time.monotonic() + 40
    while True:
        ran = kubectl.run("exec", "one", "--", "cat", "/data/first")
        if ran.code == 0 or time.monotonic() > until:
            assert ran.code == 0, ran.err
            return ran.out.rstrip("\n")
        select.select([], [], [], 0.2)


@pytest.mark.timeout(180)
def test_volumes_come_back_with_their_contents(server: ServerWithNode, kubectl: Kubectl) -> None:
    pods = Pods(kubectl)
    fields = {"volumes": [of_claim("data", "data")], "container": mounting(data="/data")}
    pods.ready(a_loop_claim("data"), a_script("one", SLEEPS, **fields))
    written = pods.sh("one", "date > /data/first; sync; cat /data/first")
    made = "7106f7b2-110b-4324-aca4-a61bed8078e2"
    directory = server.data_dir / "volumes" / "hostpath_pv" / made
    (directory / "below").mkdir(parents=True)
    (directory / "below" / "file").write_text("text")
    (directory / "link").symlink_to("/etc/passwd")
    os.link(directory / "below" / "file", directory / "again")
    os.chown(directory / "below", 7, 8)
    (directory / "below").chmod(0o2770)

    place = server.data_dir.parent
    said = done("backup", place / "running.tar", "--with-volumes", "--data-dir", server.data_dir)
    assert "1 volume was in use: contents are as after a power cut" in said
    server.stop()
    done("down", "--data-dir", server.data_dir)
    file = place / "stopped.tar"
    said = done("backup", file, "--with-volumes", "--data-dir", server.data_dir)
    assert "in use" not in said
    assert file.stat().st_size < 16 << 20  # without the holes of the image
    before = (server.data_dir / "driver" / "volumes").iterdir()
    (image,) = [volume / "image" for volume in before]
    content = image.read_bytes()

    done("reset", "--yes", "--data-dir", server.data_dir)
    done("restore", file, "--data-dir", server.data_dir)
    assert image.read_bytes() == content
    assert image.stat().st_blocks * 512 < len(content)
    below = (directory / "below").stat()
    assert (below.st_uid, below.st_gid, stat.S_IMODE(below.st_mode)) == (7, 8, 0o2770)
    assert (directory / "link").readlink() == Path("/etc/passwd")
    assert (directory / "again").stat().st_ino == (directory / "below" / "file").stat().st_ino
    server.start()
    assert until_it_runs(kubectl) == written
    server.stop()
    done("reset", "--yes", "--data-dir", server.data_dir)
