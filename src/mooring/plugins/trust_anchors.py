"""The certificates of several trust bundles as one file."""

import base64
import binascii
from collections.abc import Iterable, Iterator
from textwrap import wrap

_LINE = 64


def merged(bundles: Iterable[str]) -> bytes:
    """Each certificate once, as PEM, in an order that depends on nothing but the certificates.

    Kubernetes draws an order anew now and then, so that nobody comes to rely on it; but then the
    file is rewritten, and its readers woken, for nothing. What is no PEM is passed over.
    """
    certificates = {block for bundle in bundles for block in _blocks(bundle)}
    return "".join(_encoded(certificate) for certificate in sorted(certificates)).encode()


def _blocks(pem: str) -> Iterator[bytes]:
    body: list[str] | None = None
    for line in map(str.strip, pem.splitlines()):
        if line.startswith("-----BEGIN "):
            body = []
        elif line.startswith("-----END "):
            if certificate := _decoded("".join(body or ())):
                yield certificate
            body = None
        elif body is not None:
            body.append(line)


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        return b""


def _encoded(certificate: bytes) -> str:
    lines = wrap(base64.b64encode(certificate).decode(), _LINE)
    return "\n".join(("-----BEGIN CERTIFICATE-----", *lines, "-----END CERTIFICATE-----", ""))
