"""Which files become of the entries of API objects, and why sometimes they do not."""

from collections.abc import Awaitable, Iterable, Mapping
from typing import TypeVar

import msgspec

from mooring.errors import MooringError, NotFound
from mooring.host.atomic_dir import FileContent
from mooring.model.pod_volume import ConfigMapSource, KeyedProjection, KeyToPath, SecretSource
from mooring.plugins.contract import NotStarted

T = TypeVar("T")

MOST_BYTES = 64 * 1024 * 1024  # of all files of a volume; an object has 1.5 MiB at most

Files = Mapping[str, FileContent]
"""By path within the volume, as users wrote it."""


class Incomplete(NotStarted):
    """The content of files is missing. The text has all reasons, each once."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = tuple(dict.fromkeys(texts))
        super().__init__(self.texts[0] if len(self.texts) == 1 else f"[{', '.join(self.texts)}]")


class Room:
    """What is left for the files of one volume. One object may be shown a thousand times, and most
    of these volumes are kept in the machine's memory."""

    def __init__(self) -> None:
        self._left = MOST_BYTES

    def take(self, files: Files) -> Files:
        """Raises: Incomplete when there is no room for them, or was none before."""
        self._left -= sum(len(file.data) for file in files.values())
        if self._left < 0:
            raise Incomplete([f"the files of the volume have more than {MOST_BYTES} bytes"])
        return files


class Choice(msgspec.Struct, frozen=True):
    """Which entries of an object become files, and how."""

    items: tuple[KeyToPath, ...]  # none: all entries, each named by its key
    mode: int
    is_optional: bool


def choose(
    source: ConfigMapSource | SecretSource | KeyedProjection, default_mode: int | None
) -> Choice:
    """Raises: Incomplete."""
    return Choice(source.items, get_mode(default_mode), bool(source.optional))


def get_mode(default_mode: int | None) -> int:
    """Raises: Incomplete when there is none; the API server fills it in."""
    if default_mode is None:
        raise Incomplete(["no defaultMode used, not even the default value for it"])
    return default_mode


def chosen_files(entries: Mapping[str, bytes], choice: Choice, complaint: str) -> Files:
    """Raises: Incomplete with the complaint for a key that is not there, and has to be."""
    if not choice.items:
        return {key: FileContent(data, choice.mode) for key, data in entries.items()}
    files = {}
    for item in choice.items:
        if (data := entries.get(item.key)) is not None:
            files[item.path] = FileContent(data, choice.mode if item.mode is None else item.mode)
        elif not choice.is_optional:
            raise Incomplete([f"{complaint}: {item.key}"])
    return files


async def ask(asking: Awaitable[T], *, if_missing: T | None = None, doing: str = "") -> T:
    """What the API answers; or `if_missing`, when that is given and the object is not there.

    Raises: Incomplete.
    """
    try:
        return await asking
    except MooringError as error:
        if if_missing is not None and isinstance(error, NotFound):
            return if_missing
        raise Incomplete([f"{doing}{error}"]) from error
