"""Pulls from a registry into the real store: what honest ones give, what hostile ones cannot do."""

import asyncio
import gzip
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mooring.clock import RealClock
from mooring.model.backoff import Backoff
from mooring.model.secret_value import SecretValue
from mooring.node.server.certificate import make_certificate, serving_tls
from mooring.oci.contract import StoredImage
from mooring.oci.reference import parse
from mooring.oci.refused import ImageRefused
from mooring.oci.registry import blobs
from mooring.oci.registry.errors import Denied, NotThere, PullFailed, Unreachable
from mooring.oci.registry.logins import Keyring, Login
from mooring.oci.registry.pull import Progress, Puller
from mooring.oci.registry.pulls import ImagePulls
from mooring.oci.registry.settings import PullSettings, RegistrySettings
from mooring.oci.store import ImageStore
from tests.fakes.image_archives import (
    a_configuration,
    a_directory,
    a_file,
    a_tar,
    described,
    digest,
    oci_files,
)
from tests.fakes.registry import INDEX, FakeRegistry, fake_registry

NOISE = os.urandom(300_000).hex()
BASE = a_tar(a_directory("etc/"), a_file("etc/name", "base"), a_file("etc/noise", NOISE))
TOP = a_tar(a_file("etc/name", "top"))
QUICK = PullSettings(answer_seconds=2.0, stall_seconds=0.4)


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blobs, "AGAIN", Backoff(first=0.01, cap=0.01))


@pytest.fixture(autouse=True)
def as_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may unpack images")


@pytest.fixture
async def registry() -> AsyncIterator[FakeRegistry]:
    async with fake_registry() as made:
        yield made


class Machine:
    """A store, and what pulls into it."""

    def __init__(self, root: Path, settings: PullSettings = QUICK) -> None:
        self.root = root
        self.store = ImageStore(root)
        self.pulls = ImagePulls(
            Puller(self.store, root, settings, RealClock()), settings, RealClock()
        )

    async def pull(self, name: str, *logins: tuple[str, Login]) -> StoredImage:
        pulled = await self.pulls.pull(parse(name), Keyring(logins), lambda _: None)
        return pulled.image

    async def refused(
        self, name: str, *logins: tuple[str, Login], error: type[Exception] = PullFailed
    ) -> str:
        with pytest.raises(error) as caught:
            await self.pull(name, *logins)
        assert "\n" not in str(caught.value)
        self.has_nothing_left()
        return str(caught.value)

    def has_nothing_left(self) -> None:
        for folder in ("pulls", "tmp", "layers"):
            if (self.root / folder).exists():
                left = sorted((self.root / folder).iterdir())
                known = [path for image in self.store.list() for path in image.layers]
                assert [path for path in left if path not in known] == []


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "images")


def a_login(registry: FakeRegistry) -> tuple[str, Login]:
    name, password = registry.login
    return registry.host, Login(name, SecretValue(password.encode()))


def text_of(image: StoredImage, path: str) -> str:
    return next((layer / path).read_text() for layer in image.layers if (layer / path).exists())


async def test_by_tag_and_by_digest(machine: Machine, registry: FakeRegistry) -> None:
    found = registry.push("team/tool", "v1", oci_files([BASE, TOP]))
    image = await machine.pull(f"{registry.host}/team/tool:v1")
    assert text_of(image, "etc/name") == "top"
    assert image.names == image.pulled_names == (f"{registry.host}/team/tool:v1",)
    before = len(registry.asked("/blobs/"))
    again = await machine.pull(f"{registry.host}/team/tool@{found}")
    assert again.id == image.id
    assert len(registry.asked("/blobs/")) == before + 1  # its configuration: the layers are here
    machine.has_nothing_left()


async def test_what_is_here_already_is_not_fetched_again(
    machine: Machine, registry: FakeRegistry
) -> None:
    registry.push("tool", "v1", oci_files([BASE]))
    first = await machine.pull(f"{registry.host}/tool:v1")
    before = len(registry.seen)
    assert (await machine.pull(f"{registry.host}/tool:v1")).id == first.id
    assert [one.path for one in registry.seen[before:]] == ["/v2/tool/manifests/v1"]
    registry.push("tool", "v1", oci_files([BASE, TOP]))
    moved = await machine.pull(f"{registry.host}/tool:v1")
    assert moved.id != first.id
    fetched = [one.path for one in registry.seen if "/blobs/" in one.path]
    assert fetched.count(f"/v2/tool/blobs/{digest(gzip.compress(BASE, 1, mtime=0))}") == 1


async def test_one_of_several_platforms(machine: Machine, registry: FakeRegistry) -> None:
    registry.push("tool", "other", oci_files([BASE], a_configuration([BASE], architecture="s390x")))
    registry.push("tool", "own", oci_files([TOP]))
    manifests = []
    for tag, machine_name in (("other", "s390x"), ("own", _own())):
        document, media = registry.manifests["tool", tag]
        entry = described(document) | {"mediaType": media}
        manifests.append(entry | {"platform": {"os": "linux", "architecture": machine_name}})
    index = json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": manifests}).encode()
    top = registry.put("tool", "v1", index, INDEX)
    image = await machine.pull(f"{registry.host}/tool:v1")
    assert text_of(image, "etc/name") == "top"
    assert image.digests[0] == top


async def test_manifests_as_docker_writes_them(machine: Machine, registry: FakeRegistry) -> None:
    docker = "application/vnd.docker.distribution.manifest"
    registry.push("tool", "v1", oci_files([BASE, TOP]))
    written = json.loads(registry.manifests["tool", "v1"][0]) | {"mediaType": f"{docker}.v2+json"}
    document = json.dumps(written).encode()
    registry.put("tool", "one", document, f"{docker}.v2+json")
    entry = described(document) | {"platform": {"os": "linux", "architecture": _own()}}
    several = {"schemaVersion": 2, "mediaType": f"{docker}.list.v2+json", "manifests": [entry]}
    registry.put("tool", "v2", json.dumps(several).encode(), f"{docker}.list.v2+json")
    image = await machine.pull(f"{registry.host}/tool:v2")
    assert text_of(image, "etc/name") == "top"
    accepted = registry.asked("/manifests/")[0].headers["Accept"]
    assert f"{docker}.v2+json" in accepted
    assert f"{docker}.list.v2+json" in accepted


def _own() -> str:
    from mooring.oci.manifest import architecture_of

    return architecture_of(os.uname().machine)


@pytest.mark.parametrize("auth", ["basic", "bearer"])
async def test_a_registry_that_wants_a_login(
    machine: Machine, registry: FakeRegistry, auth: str
) -> None:
    registry.auth = auth
    registry.push("tool", "v1", oci_files([BASE, TOP]))
    name = f"{registry.host}/tool:v1"
    denied = await machine.refused(name, error=Denied)
    assert denied.startswith(f"pull access denied for {registry.host}/tool without credentials")
    wrong = (registry.host, Login("bob", SecretValue(b"wr0ng")))
    denied = await machine.refused(name, wrong, error=Denied)
    assert "with the credentials given" in denied
    assert "wr0ng" not in denied
    await machine.pull(name, wrong, a_login(registry))
    if auth == "bearer":
        (asked, *_) = [one for one in registry.asked("/token") if "Authorization" in one.headers]
        assert asked.query == {"service": "fake", "scope": "s:x:pull"}


async def test_an_identity_token_is_traded_for_a_token(
    machine: Machine, registry: FakeRegistry
) -> None:
    registry.auth = "bearer"
    registry.push("tool", "v1", oci_files([BASE]))
    login = Login(identity_token=SecretValue(registry.identity_token.encode()))
    await machine.pull(f"{registry.host}/tool:v1", (registry.host, login))
    assert registry.forms == [
        {
            "scope": "s:x:pull",
            "service": "fake",
            "grant_type": "refresh_token",
            "client_id": "mooring",
            "refresh_token": "an-identity",
        }
    ]


async def test_certificates_are_verified_by_the_authority_that_is_given(tmp_path: Path) -> None:
    own = make_certificate("registry", ("127.0.0.1",), RealClock().now())
    other = make_certificate("other", ("127.0.0.1",), RealClock().now())
    pems = {}
    for name, made in (("own", own), ("other", other)):
        pems[name] = tmp_path / f"{name}.pem"
        pems[name].write_bytes(made.pem.reveal())
    async with fake_registry(serving_tls(own, b"")) as registry:
        registry.push("tool", "v1", oci_files([BASE]))
        name = f"{registry.host}/tool:v1"

        def trusting(ca_file: str) -> Machine:
            said = {registry.host: RegistrySettings(ca_file=ca_file)}
            return Machine(tmp_path / "images", PullSettings(registries=said))

        told = await trusting(str(pems["other"])).refused(name, error=Unreachable)
        assert "cannot be trusted" in told, told
        assert "caFile in --image-config" in told, told
        assert "cannot be used" in await trusting("/none.pem").refused(name)
        assert registry.seen == []
        await trusting(str(pems["own"])).pull(name)
        await Machine(tmp_path / "others").pull(name)  # on loopback, as with Docker


async def test_401_for_ever_is_asked_twice_and_no_more(
    machine: Machine, registry: FakeRegistry
) -> None:
    registry.auth = "forever"
    await machine.refused(f"{registry.host}/tool:v1", a_login(registry), error=Denied)
    assert len(registry.asked("/manifests/")) == 2
    assert len(registry.asked("/token")) == 1


async def test_a_layer_that_is_cut_is_continued_where_it_broke_off(
    machine: Machine, registry: FakeRegistry
) -> None:
    registry.push("tool", "v1", oci_files([BASE]))
    registry.cuts = [100_000, 70_000]
    image = await machine.pull(f"{registry.host}/tool:v1")
    assert text_of(image, "etc/noise") == NOISE
    ranges = [one.headers.get("Range") for one in registry.asked("/blobs/")][1:]
    assert ranges[0] is None
    assert [text is not None and text.startswith("bytes=") for text in ranges[1:]] == [True, True]


async def test_a_layer_comes_however_often_it_is_cut_as_long_as_it_gets_on(
    machine: Machine, registry: FakeRegistry
) -> None:
    registry.push("tool", "v1", oci_files([BASE]))
    registry.cuts = [1, 20_000, 0, 0, 7, 65_536, 0, 30_000, 1, 1, 1, 1, 1]
    image = await machine.pull(f"{registry.host}/tool:v1")
    assert text_of(image, "etc/noise") == NOISE
    registry.push("tool", "v2", oci_files([a_tar(a_file("noise", NOISE))]))
    registry.cuts = [0] * 20
    await machine.refused(f"{registry.host}/tool:v2", error=Unreachable)


async def test_a_cut_layer_of_a_registry_without_ranges_is_begun_again(
    machine: Machine, registry: FakeRegistry
) -> None:
    registry.push("tool", "v1", oci_files([BASE]))
    registry.cuts, registry.ignores_ranges = [100_000], True
    image = await machine.pull(f"{registry.host}/tool:v1")
    assert text_of(image, "etc/noise") == NOISE


@pytest.mark.parametrize("fault", ["stalls", "drips", "silent"])
async def test_a_registry_that_is_stuck_is_given_up(
    machine: Machine, registry: FakeRegistry, fault: str
) -> None:
    registry.push("tool", "v1", oci_files([BASE]))
    setattr(registry, fault, True)
    assert "in time" in await machine.refused(f"{registry.host}/tool:v1", error=Unreachable)


async def test_a_stuck_registry_stops_no_other(tmp_path: Path, registry: FakeRegistry) -> None:
    for tag in ("v1", "v2", "v3", "v4"):
        registry.push("tool", tag, oci_files([BASE]))
    registry.silent = True
    machine = Machine(tmp_path / "images", PullSettings(pulls_at_once=2))
    stuck = [
        asyncio.create_task(machine.pull(f"{registry.host}/tool:{tag}"))
        for tag in ("v1", "v2", "v3", "v4")
    ]
    async with fake_registry() as other:
        other.push("tool", "v1", oci_files([TOP]))
        image = await machine.pull(f"{other.host}/tool:v1")
        assert text_of(image, "etc/name") == "top"
    for task in stuck:
        task.cancel()
    await asyncio.wait(stuck)
    machine.has_nothing_left()


async def test_overloaded_for_a_moment(machine: Machine, registry: FakeRegistry) -> None:
    registry.push("tool", "v1", oci_files([BASE]))
    name = f"{registry.host}/tool:v1"
    registry.statuses = [503, 503]
    assert "answers with 503" in await machine.refused(name, error=Unreachable)


async def test_wrong_content(machine: Machine, registry: FakeRegistry) -> None:
    registry.push("tool", "v1", oci_files([BASE]))
    blob = gzip.compress(BASE, 1, mtime=0)
    name = f"{registry.host}/tool:v1"
    registry.blobs[digest(blob)] = blob[:-9] + bytes(9)
    assert "instead of" in await machine.refused(name)
    registry.blobs[digest(blob)] = blob
    registry.extra = b"more"
    # the registry says that its configuration is longer, and then its layers
    await machine.refused(name)
    registry.extra = b""
    document = b'{"schemaVersion": 2}'
    other = f"sha256:{'0' * 64}"
    registry.manifests["tool", other] = (document, "application/json")
    assert "instead of" in await machine.refused(f"{registry.host}/tool@{other}")
    await machine.pull(name)


async def test_a_layer_longer_than_its_manifest_says(
    machine: Machine, registry: FakeRegistry
) -> None:
    files = oci_files([BASE])
    registry.push("tool", "v1", files)
    document = json.loads(registry.manifests["tool", "v1"][0])
    document["layers"][0]["size"] -= 1000
    registry.put("tool", "v1", json.dumps(document).encode())
    said = await machine.refused(f"{registry.host}/tool:v1")
    assert "sends more than" in said


async def test_a_huge_manifest(machine: Machine, registry: FakeRegistry) -> None:
    registry.put("tool", "v1", b'{"schemaVersion": 2, "x": "' + bytes(5 << 20) + b'"}')
    assert "are the most that is read" in await machine.refused(f"{registry.host}/tool:v1")


@pytest.mark.parametrize(
    ("document", "told"),
    [
        (b"{", "cannot be understood"),
        (b"[]", "cannot be understood"),
        (b'{"schemaVersion": 1, "fsLayers": []}', "schema 1"),
        (b'{"schemaVersion": 2, "layers": [], "manifests": []}', "two images"),
        (b'{"schemaVersion": 2}', "no image"),
        (b'{"schemaVersion": 2, "manifests": []}', "no image in it"),
    ],
)
async def test_manifests_that_are_none(
    machine: Machine, registry: FakeRegistry, document: bytes, told: str
) -> None:
    registry.put("tool", "v1", document)
    assert told in await machine.refused(f"{registry.host}/tool:v1", error=ImageRefused)


async def test_a_bomb(tmp_path: Path, registry: FakeRegistry) -> None:
    bomb = a_tar(a_file("zeros", "\0" * (40 << 20)))
    registry.push("tool", "v1", oci_files([bomb]))
    machine = Machine(tmp_path / "images", PullSettings(most_unpacked=8 << 20))
    said = await machine.refused(f"{registry.host}/tool:v1", error=ImageRefused)
    assert "maxUnpackedImageSize" in said


async def test_an_image_that_is_too_large(tmp_path: Path, registry: FakeRegistry) -> None:
    registry.push("tool", "v1", oci_files([BASE]))
    machine = Machine(tmp_path / "images", PullSettings(most_packed=1000))
    assert "maxImageSize" in await machine.refused(f"{registry.host}/tool:v1")
    assert len(registry.asked("/blobs/")) == 1


async def test_credentials_go_to_no_other_host(machine: Machine, registry: FakeRegistry) -> None:
    registry.auth = "basic"
    registry.push("tool", "v1", oci_files([BASE]))
    blob = digest(gzip.compress(BASE, 1, mtime=0))
    async with fake_registry() as other:
        other.blobs[blob] = registry.blobs[blob]
        registry.redirects[blob] = f"{other.url}/v2/x/blobs/{blob}"
        await machine.pull(f"{registry.host}/tool:v1", a_login(registry))
        assert [dict(one.headers).get("Authorization") for one in other.seen] == [None]


@pytest.mark.parametrize("target", ["http://example.com/x", "file:///etc/shadow", "//[", "/loop"])
async def test_redirects_that_are_not_followed(
    machine: Machine, registry: FakeRegistry, target: str
) -> None:
    registry.push("tool", "v1", oci_files([BASE]))
    blob = digest(gzip.compress(BASE, 1, mtime=0))
    registry.redirects[blob] = f"/v2/tool/blobs/{blob}" if target == "/loop" else target
    assert "redirects" in await machine.refused(f"{registry.host}/tool:v1")


async def test_no_such_image(machine: Machine, registry: FakeRegistry) -> None:
    said = await machine.refused(f"{registry.host}/none:v1", error=NotThere)
    assert said == f"{registry.host}/none: not found: manifest unknown"


async def test_nobody_is_there(machine: Machine) -> None:
    said = await machine.refused("127.0.0.1:1/tool", error=Unreachable)
    assert "cannot reach http://127.0.0.1:1: Connection refused; `mooring image import`" in said


async def test_nobody_knows_its_name(machine: Machine) -> None:
    said = await machine.refused("registry.invalid/tool", error=Unreachable)
    assert said.startswith("cannot reach https://registry.invalid: "), said
    assert "Errno" not in said, said


async def test_a_mirror_first_and_the_registry_when_it_fails(
    tmp_path: Path, registry: FakeRegistry
) -> None:
    async with fake_registry() as mirror:
        own = {registry.host: RegistrySettings(mirrors=(mirror.url,))}
        machine = Machine(tmp_path / "images", PullSettings(registries=own))
        mirror.push("tool", "v1", oci_files([BASE]))
        registry.push("tool", "v2", oci_files([TOP]))
        await machine.pull(f"{registry.host}/tool:v1")
        assert registry.seen == []
        await machine.pull(f"{registry.host}/tool:v2")
        assert registry.asked("/manifests/v2")
        mirror.push("tool", "v3", oci_files([a_tar(a_file("three", NOISE))]))
        registry.push("tool", "v3", oci_files([a_tar(a_file("three", NOISE))]))
        mirror.blobs.clear()
        image = await machine.pull(f"{registry.host}/tool:v3")
        assert text_of(image, "three") == NOISE
        machine.has_nothing_left()


async def test_those_who_want_one_image_share_one_pull(
    machine: Machine, registry: FakeRegistry
) -> None:
    registry.push("tool", "v1", oci_files([BASE, TOP]))
    name = f"{registry.host}/tool:v1"
    images = await asyncio.gather(*(machine.pull(name) for _ in range(5)))
    assert {image.id for image in images} == {images[0].id}
    assert len(registry.asked("/manifests/")) == 1


async def test_layers_come_together_and_only_so_many(
    tmp_path: Path, registry: FakeRegistry
) -> None:
    layers = [a_tar(a_file(f"file{number}", NOISE + str(number))) for number in range(6)]
    registry.push("tool", "v1", oci_files(layers))
    machine = Machine(tmp_path / "images", PullSettings(layers_at_once=2))
    image = await machine.pull(f"{registry.host}/tool:v1")
    assert len(image.layers) == 6
    assert registry.most_at_once <= 2


async def test_a_pull_that_nobody_wants_any_more_ends(
    machine: Machine, registry: FakeRegistry
) -> None:
    registry.push("tool", "v1", oci_files([BASE]))
    registry.stalls = True
    started: list[Progress] = []
    name = parse(f"{registry.host}/tool:v1")
    tasks = [
        asyncio.create_task(machine.pulls.pull(name, Keyring(), started.append)) for _ in range(2)
    ]
    while not registry.under_way:
        await asyncio.wait(tasks, timeout=0.01)
    for task in tasks:
        task.cancel()
        await asyncio.wait({task})
    machine.has_nothing_left()
    registry.stalls = False
    await machine.pull(str(name))


async def test_what_a_killed_process_has_left_goes_with_the_next_pull(
    machine: Machine, registry: FakeRegistry
) -> None:
    left = machine.root / "pulls" / "left"
    left.mkdir(parents=True)
    (left / "lock").touch()
    (left / "sha256-1").write_text("half a layer")
    registry.push("tool", "v1", oci_files([BASE]))
    await machine.pull(f"{registry.host}/tool:v1")
    machine.has_nothing_left()


async def test_files_are_for_root_only(machine: Machine, registry: FakeRegistry) -> None:
    registry.push("tool", "v1", oci_files([BASE]))
    registry.stalls = True
    task = asyncio.create_task(machine.pull(f"{registry.host}/tool:v1"))
    while not registry.under_way:
        await asyncio.wait({task}, timeout=0.01)
    found = list((machine.root / "pulls").rglob("*"))
    assert found
    assert {path.stat().st_mode & 0o077 for path in (machine.root / "pulls", *found)} == {0}
    task.cancel()
    await asyncio.wait({task})
