"""The client's credentials (token, client certificate), and where they come from.

Credentials change while a process runs: tokens are rotated on the disk, certificates are renewed.
So every request asks its `Source` for a `Proof`, and reports a refused one to it.
"""

from pathlib import Path
from typing import Protocol

import msgspec

from mooring import log
from mooring.errors import UsageError
from mooring.model.secret_value import SecretValue

_log = log.get("mooring.client")

MOST_BYTES = 1 << 20  # of a token, a certificate or a key


class Proof(msgspec.Struct, frozen=True):
    """A bearer token, a client certificate, both, or nothing at all."""

    token: SecretValue | None = None
    certificate: bytes = b""  # PEM, with intermediates
    key: SecretValue | None = None  # PEM


class Source(Protocol):
    async def proof(self) -> Proof:
        """The credentials to send now. Raises: UsageError."""
        ...

    def has_better(self, refused: Proof) -> bool:
        """Whether, after the server refused this proof, another one may be tried."""
        ...


class Text(Protocol):
    """A token, certificate or key, wherever it is stored."""

    def read(self) -> bytes: ...


class Given:
    """A text that was in the kubeconfig itself."""

    def __init__(self, value: SecretValue) -> None:
        self._value = value

    def read(self) -> bytes:
        return self._value.reveal()


class InFile:
    """A text in a file, read again whenever the file has changed."""

    def __init__(self, path: Path, what: str) -> None:
        self._path = path
        self._what = what
        self._look: tuple[int, ...] = ()
        self._content: SecretValue | None = None

    def read(self) -> bytes:
        """The file's content; if reading fails, the last one read. Raises: UsageError."""
        try:
            found = self._path.stat()
            look = (found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size)
            if look != self._look or self._content is None:
                self._content = SecretValue(self._read_bytes())
                self._look = look
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            if self._content is None:
                raise UsageError(f"cannot read the {self._what} {self._path}: {why}") from error
            _log.warning("file not read again", path=self._path, because=why)
        return self._content.reveal()

    def _read_bytes(self) -> bytes:
        with self._path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise ValueError(f"it has more than {MOST_BYTES} bytes")
        return content


class Held:
    """Proofs from texts that are renewed outside of this process."""

    def __init__(
        self, token: Text | None = None, certificate: Text | None = None, key: Text | None = None
    ) -> None:
        self._token = token
        self._certificate = certificate
        self._key = key

    async def proof(self) -> Proof:
        return self._read()

    def has_better(self, refused: Proof) -> bool:
        return self._read() != refused

    def _read(self) -> Proof:
        token = self._token.read().strip() if self._token else b""
        return Proof(
            token=SecretValue(token) if token else None,
            certificate=self._certificate.read() if self._certificate else b"",
            key=SecretValue(self._key.read()) if self._key else None,
        )


NOBODY = Held()
