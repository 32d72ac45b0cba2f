"""Servers on one store are one cluster: each has the same authority, keys and tokens.

The first of them records its authority in the ConfigMap `kube-root-ca.crt` of kube-system. One that
comes later with other keys would be trusted by nobody who trusts the first.
"""

from collections.abc import Collection
from pathlib import Path

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from mooring.apiserver.kinds.config_map import CONFIG_MAP
from mooring.apiserver.lifecycle.namespace_controller.decide import ROOT_CA
from mooring.apiserver.store.contract import Store
from mooring.errors import UsageError
from mooring.host.private_file import find_private

AUTHORITY = "pki/ca.crt"
SHARED = (AUTHORITY, "pki/ca.key", "pki/service-account.key", "tokens.json")
RECORD = f"kube-system/{ROOT_CA}"


class _RootCa(msgspec.Struct, frozen=True):
    data: dict[str, str] = {}


def check_shared_keys(store: Store, data_dir: Path) -> None:
    """Called before any key is made; reads the disk. Raises: UsageError."""
    recorded = store.get(CONFIG_MAP.store_table, RECORD)
    if recorded is None:
        return  # the first server
    there = [name for name in SHARED if (data_dir / name).exists()]
    own = find_private(data_dir / AUTHORITY) if AUTHORITY in there else None
    authority = msgspec.json.decode(recorded.value, type=_RootCa).data.get("ca.crt", "")
    flaw = find_flaw(authority.encode(), own or b"", there)
    if flaw is not None:
        raise UsageError(
            f"etcd holds the objects of other API servers, and {data_dir} {flaw}: copy "
            f"{', '.join(SHARED)} from the data directory of one of them, and start again"
        )


def find_flaw(recorded: bytes, own: bytes, there: Collection[str]) -> str | None:
    """Why a server with the files that are `there` is none of theirs; None when it is."""
    missing = [name for name in SHARED if name not in there]
    if missing:
        return f"lacks keys that they share ({', '.join(missing)})"
    known = _keys(recorded)
    if known and known.isdisjoint(_keys(own)):
        return f"has another authority than theirs in {AUTHORITY}"
    return None


def _keys(authority: bytes) -> set[bytes]:
    """Its public keys, which stay when a certificate is renewed; none of what is no certificate."""
    try:
        found = x509.load_pem_x509_certificates(authority)
    except ValueError:
        return set()
    return {
        one.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        for one in found
    }
