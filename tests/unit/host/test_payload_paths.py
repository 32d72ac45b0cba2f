"""Which paths a payload may have."""

import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.errors import HostError
from mooring.host.payload_paths import clean_paths, parents

REFUSED = {
    "nothing at all": ("", 'invalid path: must not be empty: ""'),
    "an absolute path": ("/a", "invalid path: must be relative path: /a"),
    "more than 4096 bytes": (
        "/".join(["abcdefg"] * 513),
        "invalid path: must be less than or equal to 4096 characters",
    ),
    "4096 is counted in bytes": (
        "/".join(["äöüäöüä"] * 300),
        "invalid path: must be less than or equal to 4096 characters",
    ),
    "a step back": ("a/../b", "invalid path: must not contain '..': a/../b"),
    "a step back at the end": ("a/..", "invalid path: must not contain '..': a/.."),
    "two dots alone": ("..", "invalid path: must not contain '..': .."),
    "a name of 256 bytes": (
        "a" * 256,
        "invalid path: filenames must be less than or equal to 255 characters",
    ),
    "255 is counted in bytes": (
        "ä" * 128,
        "invalid path: filenames must be less than or equal to 255 characters",
    ),
    "a reserved name": ("..x", "invalid path: must not start with '..': ..x"),
    "three dots": ("...", "invalid path: must not start with '..': ..."),
    "a reserved directory": ("..x/y", "invalid path: must not start with '..': ..x/y"),
    "a reserved name behind a dot": ("./..data", "invalid path: must not start with '..': ..data"),
    "the directory itself": ("./", "invalid path: must name a file: ."),
    "a NUL byte": ("a\0b", "invalid path: must not contain a NUL byte"),
    "half a surrogate pair": ("\ud800", "invalid path: must be valid UTF-8"),
}


@pytest.mark.parametrize(("path", "text"), REFUSED.values(), ids=REFUSED)
def test_a_path_is_refused(path: str, text: str) -> None:
    with pytest.raises(HostError) as refused:
        clean_paths({path: b""})
    assert str(refused.value) == text


CLEANED = {
    "a plain name stays": ("key", "key"),
    "a directory stays": ("a/b", "a/b"),
    "two dots within a name are legal": ("a..b", "a..b"),
    "a reserved name below a directory is legal": ("a/..b", "a/..b"),
    "a hidden file is legal": (".x", ".x"),
    "needless parts go": ("a//b/./c", "a/b/c"),
    "a slash at the end goes": ("a/", "a"),
    "255 bytes are legal": ("a" * 255, "a" * 255),
}


@pytest.mark.parametrize(("path", "clean"), CLEANED.values(), ids=CLEANED)
def test_a_path_is_cleaned(path: str, clean: str) -> None:
    assert clean_paths({path: b"x"}) == {clean: b"x"}


def test_a_file_cannot_be_a_directory_too() -> None:
    with pytest.raises(HostError, match="is a file and a directory at once: x"):
        clean_paths({"x": b"", "x/y": b""})


def test_the_directories_that_paths_need() -> None:
    assert parents(["a", "b/c", "b/d/e/f"]) == {"b", "b/d", "b/d/e"}


@given(st.text(alphabet="./ax\0ä", max_size=12))
def test_what_is_accepted_stays_inside_and_off_the_reserved_names(path: str) -> None:
    try:
        (clean,) = clean_paths({path: b""})
    except HostError:
        return
    joined = posixpath.normpath(posixpath.join("/volume", clean))
    assert joined == f"/volume/{clean}"
    assert not clean.startswith("..")
