"""Which entries of an object become which files."""

import pytest

from mooring.errors import ConnectionLost, Forbidden, MooringError, NotFound
from mooring.host.atomic_dir import FileContent
from mooring.model.pod_volume import ConfigMapSource, KeyedProjection, KeyToPath, SecretSource
from mooring.plugins.contract import NotStarted
from mooring.plugins.payload import (
    MOST_BYTES,
    Choice,
    Files,
    Incomplete,
    Room,
    ask,
    choose,
    chosen_files,
    get_mode,
)

ENTRIES = {"a": b"1", "b": b"2"}

CHOSEN: dict[str, tuple[Choice, Files]] = {
    "without items, every key is a file": (
        Choice((), 0o640, is_optional=False),
        {"a": FileContent(b"1", 0o640), "b": FileContent(b"2", 0o640)},
    ),
    "with items, only those that are listed": (
        Choice((KeyToPath("b", "x/y"),), 0o640, is_optional=False),
        {"x/y": FileContent(b"2", 0o640)},
    ),
    "an item's mode beats the volume's, even when it lets nobody in": (
        Choice((KeyToPath("a", "a", 0o000), KeyToPath("b", "b")), 0o640, is_optional=False),
        {"a": FileContent(b"1", 0o000), "b": FileContent(b"2", 0o640)},
    ),
    "one key may become several files": (
        Choice((KeyToPath("a", "x"), KeyToPath("a", "y")), 0o640, is_optional=False),
        {"x": FileContent(b"1", 0o640), "y": FileContent(b"1", 0o640)},
    ),
    "a missing key that is optional is left out": (
        Choice((KeyToPath("none", "x"), KeyToPath("a", "a")), 0o640, is_optional=True),
        {"a": FileContent(b"1", 0o640)},
    ),
}


@pytest.mark.parametrize(("choice", "files"), CHOSEN.values(), ids=[*CHOSEN])
def test_chosen_files(choice: Choice, files: Files) -> None:
    assert chosen_files(ENTRIES, choice, "no such key") == files


def test_a_missing_key_is_named() -> None:
    choice = Choice((KeyToPath("a", "a"), KeyToPath("none", "x")), 0o640, is_optional=False)
    with pytest.raises(Incomplete) as refused:
        chosen_files(ENTRIES, choice, "no such key")
    assert str(refused.value) == "no such key: none"


@pytest.mark.parametrize(
    ("source", "is_optional"),
    [
        (ConfigMapSource("x", optional=True), True),
        (SecretSource("x", optional=False), False),
        (KeyedProjection("x"), False),
    ],
)
def test_nothing_is_optional_unless_it_says_so(
    source: ConfigMapSource | SecretSource | KeyedProjection, *, is_optional: bool
) -> None:
    assert choose(source, 0o600) == Choice((), 0o600, is_optional=is_optional)


def test_without_a_default_mode_there_are_no_files() -> None:
    with pytest.raises(Incomplete) as refused:
        get_mode(None)
    assert str(refused.value) == "no defaultMode used, not even the default value for it"


@pytest.mark.parametrize(
    ("texts", "told"),
    [(["a"], "a"), (["a", "b"], "[a, b]"), (["b", "a", "b"], "[b, a]"), (["a", "a"], "a")],
)
def test_reasons_are_told_together_and_once(texts: list[str], told: str) -> None:
    assert str(Incomplete(texts)) == told


def test_nothing_was_begun_when_files_cannot_be_had() -> None:
    assert issubclass(Incomplete, NotStarted)


async def answering(answer: str | MooringError) -> str:
    if isinstance(answer, MooringError):
        raise answer
    return answer


@pytest.mark.parametrize("if_missing", ["", None], ids=["optional", "needed"])
async def test_what_is_there_is_taken(if_missing: str | None) -> None:
    assert await ask(answering("it"), if_missing=if_missing) == "it"


async def test_what_is_optional_may_be_missing() -> None:
    assert await ask(answering(NotFound("gone")), if_missing="") == ""


NOT_TO_BE_HAD = {
    "missing": (NotFound("gone"), None),
    "forbidden": (Forbidden("not you"), None),
    "forbidden, though optional": (Forbidden("not you"), ""),
    "no connection, though optional": (ConnectionLost("refused"), ""),
}


@pytest.mark.parametrize(("error", "if_missing"), NOT_TO_BE_HAD.values(), ids=[*NOT_TO_BE_HAD])
async def test_what_cannot_be_had(error: MooringError, if_missing: str | None) -> None:
    with pytest.raises(Incomplete) as refused:
        await ask(answering(error), if_missing=if_missing, doing="asking: ")
    assert str(refused.value) == f"asking: {error}"


def test_the_files_of_a_volume_have_a_limit_together() -> None:
    room = Room()
    half = {"a": FileContent(bytes(MOST_BYTES // 2), 0o644)}
    assert room.take(half) is half
    room.take(half)
    for more in ({"b": FileContent(b"x", 0o644)}, {}):
        with pytest.raises(Incomplete, match="more than"):
            room.take(more)
