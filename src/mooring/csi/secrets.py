"""Secrets on their way to a driver: they cannot print themselves, and mask what echoes them."""

import base64
import json
import re
from collections.abc import Iterator, Mapping
from urllib.parse import quote

import msgspec

from mooring.errors import MooringError
from mooring.model.secret_value import SecretValue

STRIPPED = "***stripped***"
TOKENS_KEY = "csi.storage.k8s.io/serviceAccount.tokens"
"""The one entry of a volume context that is a secret, though its field is not marked as one."""

_SHORT = 4  # characters; what is shorter is masked only where it stands alone as a word
_TELLING_LINE = 8  # characters; a line of a longer secret that would give part of it away


class Unsendable(MooringError):
    """A secret that is no text cannot be sent; the text names its key only."""


class Secrets(msgspec.Struct, frozen=True):
    """Named secret values, as a Kubernetes Secret holds them."""

    values: Mapping[str, SecretValue] = msgspec.field(default_factory=dict)

    @classmethod
    def of_text(cls, texts: Mapping[str, str]) -> "Secrets":
        return cls({key: SecretValue(text.encode()) for key, text in texts.items()})

    def __repr__(self) -> str:
        return f"Secrets(keys={sorted(self.values)})"

    def __bool__(self) -> bool:
        return bool(self.values)

    def merged(self, other: "Secrets") -> "Secrets":
        """Both together; where keys meet, `other` wins."""
        return Secrets({**self.values, **other.values})

    def reveal(self) -> dict[str, str]:
        """For the wire alone. Raises: Unsendable."""
        revealed = {}
        for key, value in self.values.items():
            try:
                revealed[key] = value.reveal().decode()
            except UnicodeDecodeError:
                # `from None`: the original error carries the bytes.
                raise Unsendable(f"secret key {key!r} contains invalid UTF-8") from None
        return revealed

    def mask(self, text: str) -> str:
        """`text` with each of these values, in every spelling that is likely, taken out of it."""
        if not text or not self.values:
            return text
        spellings = {word for value in self.values.values() for word in _spellings(value.reveal())}
        # Longest first, so that no part of a longer spelling is left standing.
        patterns = map(_pattern, sorted(spellings, key=len, reverse=True))
        return re.sub("|".join(patterns) or "(?!)", STRIPPED, text)


NO_SECRETS = Secrets()


def _pattern(spelling: str) -> str:
    escaped = re.escape(spelling)
    return rf"(?<!\w){escaped}(?!\w)" if len(spelling) < _SHORT else escaped


def _spellings(value: bytes) -> Iterator[str]:
    """As the driver got it, and as it may have been encoded, quoted or cut into lines since."""
    text = value.decode(errors="replace")
    whole = text.strip()
    if not whole:
        return
    parts = {text, whole}
    parts.update(line for line in map(str.strip, text.splitlines()) if len(line) >= _TELLING_LINE)
    for part in parts:
        yield part
        yield json.dumps(part)[1:-1]
        yield json.dumps(part, ensure_ascii=False)[1:-1]
        yield repr(part)[1:-1]
        yield quote(part, safe="")
        if len(part) >= _SHORT:
            yield from _base64(part.encode(errors="replace"))
    yield from _tokens(text)


def _base64(value: bytes) -> Iterator[str]:
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        encoded = encode(value).decode()
        yield encoded
        yield encoded.rstrip("=")


def _tokens(text: str) -> Iterator[str]:
    """The tokens in a document of service account tokens: a driver echoes one, not the document."""
    if not text.startswith("{"):
        return
    try:
        document = msgspec.json.decode(text, type=dict[str, dict[str, str]])
    except msgspec.DecodeError:
        return
    for entry in document.values():
        if token := entry.get("token"):
            yield token
