"""Which of several images is meant, and what its documents say."""

import pytest

from mooring.oci.contract import ImageConfig
from mooring.oci.manifest import (
    Configuration,
    Descriptor,
    Manifest,
    Platform,
    RootFs,
    Saved,
    architecture_of,
    check,
    pick_platform,
    pick_saved,
    pick_top,
    read,
)
from mooring.oci.reference import parse
from mooring.oci.refused import ImageRefused
from tests.fakes.image_archives import a_configuration

ONE, TWO, THREE = (f"sha256:{digit * 64}" for digit in "123")


def of(
    digest: str, architecture: str = "", name: str = "", ref: str = "", variant: str = ""
) -> Descriptor:
    notes = {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": ref}
    return Descriptor(
        digest,
        1,
        Platform(architecture, "linux", variant) if architecture else None,
        {key: value for key, value in notes.items() if value},
    )


TOP = {
    "the only one, whatever it is called": ("x", [of(ONE, name="docker.io/library/y:latest")], ONE),
    "the one with the full name": (
        "y", [of(ONE, name="docker.io/library/x:latest"), of(TWO, name="docker.io/library/y")], TWO,
    ),
    "the one with the tag": ("x:v2", [of(ONE, ref="v1"), of(TWO, ref="v2")], TWO),
    "a ref that is a full name": ("x:v2", [of(ONE, ref="x:v1"), of(TWO, ref="x:v2")], TWO),
    "a full name wins over a tag": (
        "x:v1", [of(ONE, name="quay.io/y:v1", ref="v1"), of(TWO, name="x:v1", ref="v1")], TWO,
    ),
    "the one for this machine": ("x", [of(ONE, "arm64"), of(TWO, "amd64")], TWO),
    "the one that is no attestation": ("x", [of(ONE, "unknown"), of(TWO)], TWO),
    "the only one, for another machine": ("x", [of(ONE, "arm64")], ONE),
    "the one with the digest": (f"x@{TWO}", [of(ONE), of(TWO)], TWO),
}  # fmt: skip


@pytest.mark.parametrize(("name", "found", "picked"), TOP.values(), ids=TOP)
def test_of_a_layout(name: str, found: list[Descriptor], picked: str) -> None:
    assert pick_top(found, parse(name), "amd64").digest == picked


NOT_TOP = {
    "two names, and neither is asked for": (
        [of(ONE, ref="v1"), of(TWO, ref="v2")],
        "names: v1, v2",
    ),
    "two for this machine": ([of(ONE, "amd64"), of(TWO, "amd64")], "several images"),
    "two without names": ([of(ONE), of(TWO)], ONE),
    "others' machines": (
        [of(ONE, "arm64"), of(TWO, "s390x")],
        "for arm64, s390x, and this machine",
    ),
    "nothing": ([], "no image in it"),
    "attestations only": ([of(ONE, "unknown")], "no image in it"),
}


@pytest.mark.parametrize(("found", "why"), NOT_TOP.values(), ids=NOT_TOP)
def test_of_a_layout_none(found: list[Descriptor], why: str) -> None:
    with pytest.raises(ImageRefused, match=why):
        pick_top(found, parse("x:v3"), "amd64")


PLATFORM = {
    "this machine's": ([of(ONE, "arm64"), of(TWO, "amd64"), of(THREE, "unknown")], TWO),
    "the plainest of this machine's": ([of(ONE, "amd64", variant="v3"), of(TWO, "amd64")], TWO),
    "the first of this machine's": (
        [of(ONE, "amd64", variant="v2"), of(TWO, "amd64", variant="v3")],
        ONE,
    ),
    "the only one": ([of(ONE)], ONE),
}


@pytest.mark.parametrize(("found", "picked"), PLATFORM.values(), ids=PLATFORM)
def test_for_a_machine(found: list[Descriptor], picked: str) -> None:
    assert pick_platform(found, "amd64").digest == picked


def test_for_no_machine_like_this() -> None:
    with pytest.raises(ImageRefused, match="it is for arm64, s390x, and this machine is amd64"):
        pick_platform([of(ONE, "s390x"), of(TWO, "arm64")], "amd64")


def saved(*tags: str) -> Saved:
    return Saved(config="c", layers=(), repo_tags=tags or None)


def test_of_a_docker_archive() -> None:
    only, first, second = saved("y:1"), saved("a:1", "b:1"), saved("quay.io/c:1")
    assert pick_saved([only], parse("x")) is only
    assert pick_saved([first, second], parse("docker.io/library/b:1")) is first
    assert pick_saved([first, second], parse("quay.io/c:1")) is second
    with pytest.raises(ImageRefused, match=r"several images.*: a:1, b:1, quay\.io/c:1"):
        pick_saved([first, second], parse("c:1"))
    with pytest.raises(ImageRefused, match="images without names"):
        pick_saved([saved(), saved()], parse("c:1"))


def test_how_an_image_is_run() -> None:
    run: dict[str, object] = {
        "Entrypoint": ["/e"],
        "Cmd": None,
        "Env": ["A=b"],
        "User": "7:8",
        "WorkingDir": "/w",
        "StopSignal": "SIGQUIT",
        "ExposedPorts": {"80/tcp": {}},
    }
    configuration = read(a_configuration([b"x"], config=run), Configuration, "configuration")
    assert configuration.to_run() == ImageConfig(("/e",), (), ("A=b",), "7:8", "/w", "SIGQUIT")
    assert len(configuration.diff_ids) == 1


@pytest.mark.parametrize(
    "document", [b"{}", b'{"config":null,"rootfs":{"diff_ids":null}}', b'{"config":{}}']
)
def test_an_image_that_says_nothing(document: bytes) -> None:
    configuration = read(document, Configuration, "configuration")
    assert configuration.to_run() == ImageConfig()
    assert configuration.diff_ids == ()


@pytest.mark.parametrize(
    "document", [b"", b"[]", b'{"config":{"Env":[1]}}', b'"\xff"', b'{"os":{}}']
)
def test_a_document_that_makes_no_sense(document: bytes) -> None:
    with pytest.raises(ImageRefused, match="its configuration cannot be understood"):
        read(document, Configuration, "configuration")


def test_a_manifest_knows_what_it_is() -> None:
    assert read(b'{"manifests":[]}', Manifest, "manifest").manifests == ()
    assert read(b'{"layers":[]}', Manifest, "manifest").manifests is None


UNFIT = {
    "another system": (Configuration(os="windows"), 0, "it is for windows"),
    "fewer layers than told": (Configuration(rootfs=RootFs((ONE,))), 0, "0 layers.*tells of 1"),
    "more than overlay can": (
        Configuration(rootfs=RootFs((ONE,) * 501)),
        501,
        "overlay stacks 500",
    ),
    "a digest that leads elsewhere": (
        Configuration(rootfs=RootFs(("sha256:../../etc",))),
        1,
        "cannot be checked",
    ),
    "a digest of another kind": (
        Configuration(rootfs=RootFs(("md5:" + "0" * 32,))),
        1,
        "cannot be checked",
    ),
}


@pytest.mark.parametrize(("configuration", "layers", "why"), UNFIT.values(), ids=UNFIT)
def test_unfit(configuration: Configuration, layers: int, why: str) -> None:
    with pytest.raises(ImageRefused, match=why):
        check(configuration, layers)


@pytest.mark.parametrize(
    ("machine", "architecture"),
    [("x86_64", "amd64"), ("aarch64", "arm64"), ("armv7l", "arm"), ("riscv64", "riscv64")],
)
def test_what_machines_are_called(machine: str, architecture: str) -> None:
    assert architecture_of(machine) == architecture
