"""The list of images: what it finds, what it keeps, how it is replaced."""

from pathlib import Path

import pytest

from mooring.oci.contract import ImageConfig
from mooring.oci.index import Catalogue, Image, Index, StoredLayer, read, visible, write
from mooring.oci.reference import parse
from mooring.oci.refused import ImageRefused

LAYERS = Path("/store/layers")
ONE, TWO = (f"sha256:{digit * 64}" for digit in "12")
MANIFEST = f"sha256:{'e' * 64}"
INDEX = Index(
    layers={"base": StoredLayer(10), "top": StoredLayer(5)},
    images={
        ONE: Image(("top", "base"), ImageConfig(command=("sh",)), (MANIFEST,)),
        TWO: Image(("base",), ImageConfig()),
    },
    names={
        "docker.io/library/one:latest": ONE,
        "quay.io/also/one:v1": ONE,
        "docker.io/library/two:latest": TWO,
    },
)

FOUND = {
    "by its full name": ("docker.io/library/one:latest", ONE),
    "by its short name": ("one", ONE),
    "by another of its names": ("quay.io/also/one:v1", ONE),
    "by its id": (ONE, ONE),
    "by its id without the algorithm": (ONE[7:], ONE),
    "by the beginning of its id": ("222222222222", TWO),
    "by the digest of its manifest": (f"one@{MANIFEST}", ONE),
    "by that digest, whatever tag": (f"quay.io/also/one:v7@{MANIFEST}", ONE),
    "not by that digest elsewhere": (f"quay.io/one@{MANIFEST}", None),
    "not by its id as a manifest's": (f"one@{ONE}", None),
    "not by another tag": ("one:v1", None),
    "not by too few digits": ("22222222222", None),
    "not by what can be no name": ("One", None),
    "not by nothing": ("", None),
}


@pytest.mark.parametrize(("reference", "found"), FOUND.values(), ids=FOUND)
def test_found(reference: str, found: str | None) -> None:
    image = Catalogue(INDEX, LAYERS).find(reference)
    assert (image.id if image else None) == found


def test_the_beginning_of_two_ids_is_of_none() -> None:
    near = ONE[:-1] + "2"
    index = Index(images={ONE: Image((), ImageConfig()), near: Image((), ImageConfig())})
    catalogue = Catalogue(index, LAYERS)
    assert catalogue.find("1" * 12) is None
    assert catalogue.find(near[7:]) is not None


def test_what_is_told_of_an_image() -> None:
    image = Catalogue(INDEX, LAYERS).images[ONE]
    assert image.names == ("docker.io/library/one:latest", "quay.io/also/one:v1")
    assert image.layers == (LAYERS / "top", LAYERS / "base")
    assert image.size == 15
    assert image.config.command == ("sh",)


def test_a_name_moves_and_the_image_that_lost_its_last_goes() -> None:
    after = INDEX.with_image(parse("two"), ONE, INDEX.images[ONE], {}).without_rubbish(set())
    assert set(after.images) == {ONE}
    assert after.names["docker.io/library/two:latest"] == ONE


def test_an_image_in_use_stays_without_a_name() -> None:
    after = INDEX.without(["docker.io/library/one:latest", "quay.io/also/one:v1"])
    kept = after.without_rubbish({ONE, "sha256:unknown"})
    assert set(kept.images) == {ONE, TWO}
    assert Catalogue(kept, LAYERS).images[ONE].names == ()
    assert set(after.without_rubbish(set()).layers) == {"base"}


def test_a_layer_goes_with_its_last_image() -> None:
    after = INDEX.without(list(INDEX.names)).without_rubbish(set())
    assert after == Index()


def test_digests_of_both_imports_are_kept() -> None:
    other = Image(("top", "base"), ImageConfig(), (f"sha256:{'f' * 64}",))
    after = INDEX.with_image(parse("one"), ONE, other, {})
    assert after.images[ONE].digests == (MANIFEST, f"sha256:{'f' * 64}")


PLAIN, OPAQUE = StoredLayer(1), StoredLayer(1, hides_below=True)
VISIBLE = {
    "the topmost first": (("a", "b", "c"), ("c", "b", "a")),
    "the upper one of two that are the same": (("a", "b", "a", "c"), ("c", "a", "b")),
    "nothing below a root that is opaque": (("a", "OPAQUE", "c"), ("c", "OPAQUE")),
    "one alone": (("a",), ("a",)),
    "none": ((), ()),
}


@pytest.mark.parametrize(("layers", "stack"), VISIBLE.values(), ids=VISIBLE)
def test_visible(layers: tuple[str, ...], stack: tuple[str, ...]) -> None:
    known = dict.fromkeys("abc", PLAIN) | {"OPAQUE": OPAQUE}
    assert visible(layers, known) == stack


def test_written_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "images.json"
    assert read(path) == Index()
    write(path, Index(), tmp_path / "draft")
    write(path, INDEX, tmp_path / "draft")
    assert read(path) == INDEX
    assert [found.name for found in tmp_path.iterdir()] == ["images.json"]


@pytest.mark.parametrize(
    ("written", "why"),
    [
        (b"{", "is damaged: move it away"),
        (b'{"version":1,"names":[]}', "is damaged"),
        (b'{"version":2,"names":[]}', "of a newer Mooring"),
    ],
)
def test_one_that_cannot_be_read(tmp_path: Path, written: bytes, why: str) -> None:
    (tmp_path / "images.json").write_bytes(written)
    with pytest.raises(ImageRefused, match=why):
        read(tmp_path / "images.json")
