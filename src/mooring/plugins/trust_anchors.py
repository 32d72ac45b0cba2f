"""The certificates of several trust bundles as one file."""

import base64
from collections.abc import Iterable
from textwrap import wrap

from mooring.model.pem import blocks

_LINE = 64


def merged(bundles: Iterable[str]) -> bytes:
    """Each certificate once, as PEM, in an order that depends on nothing but the certificates.

    Kubernetes shuffles them now and then, so that no program relies on an order; but then the file
    is rewritten, and its readers woken, for nothing. Text that is not PEM is skipped.
    """
    certificates = {block.data for bundle in bundles for block in blocks(bundle) if block.data}
    return "".join(_encoded(certificate) for certificate in sorted(certificates)).encode()


def _encoded(certificate: bytes) -> str:
    lines = wrap(base64.b64encode(certificate).decode(), _LINE)
    return "\n".join(("-----BEGIN CERTIFICATE-----", *lines, "-----END CERTIFICATE-----", ""))
