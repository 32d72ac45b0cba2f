"""ClusterTrustBundle: CA certificates that pods may mount as a file.

There is no `attest` permission per signer: a user who may write bundles may write all of them.
"""

from collections.abc import Iterable
from typing import Any

from cryptography import x509

from mooring.apiserver.kinds.cells import NONE, name_of
from mooring.apiserver.kinds.contract import NAME, Column, Kind
from mooring.apiserver.kinds.immutability import validate_unchanged
from mooring.apiserver.kinds.selectable import text_in
from mooring.apiserver.kinds.signers import bundle_name_problems, validate_signer_name
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, invalid, too_long
from mooring.model.pem import Block, blocks

_MOST_BYTES = 1024 * 1024
_BUNDLE = "spec.trustBundle"
_OMITTED = "<value omitted>"
_NO_CERTIFICATE = "does not parse as X.509"


def _validate(doc: Doc) -> Iterable[FieldError]:
    spec = doc["spec"]
    signer = spec.get("signerName", "")
    yield from _validate_names(doc["metadata"], signer)
    if signer:
        yield from validate_signer_name(signer, "spec.signerName")
    yield from _validate_bundle(spec.get("trustBundle", ""))


def _validate_names(metadata: Doc, signer: str) -> Iterable[FieldError]:
    if prefix := metadata.get("generateName"):
        for problem in bundle_name_problems(prefix, signer, is_prefix=True):
            yield invalid("metadata.generateName", prefix, problem)
    if name := metadata.get("name"):
        for problem in bundle_name_problems(name, signer):
            yield invalid("metadata.name", name, problem)


def _validate_bundle(pem: str) -> Iterable[FieldError]:
    if len(pem.encode()) > _MOST_BYTES:
        yield too_long(_BUNDLE, _MOST_BYTES)
        return
    places: dict[bytes, list[int]] = {}
    is_broken = False
    for index, block in enumerate(blocks(pem)):
        if problem := _problem_of(block):
            is_broken = True
            yield invalid(_BUNDLE, _OMITTED, f"entry {index} {problem}")
        places.setdefault(block.data, []).append(index)
    if is_broken:
        return  # what else there is to say may follow from that
    if not places:
        yield invalid(_BUNDLE, _OMITTED, "at least one trust anchor must be provided")
    for indices in places.values():
        if len(indices) > 1:
            listed = " ".join(map(str, indices))
            yield invalid(_BUNDLE, _OMITTED, f"duplicate trust anchor (indices [{listed}])")


def _problem_of(block: Block) -> str:
    if block.label != "CERTIFICATE":
        return f"has bad block type: {block.label}"
    if block.has_headers:
        return "has PEM block headers"
    try:
        extensions = x509.load_der_x509_certificate(block.data).extensions
        constraints = extensions.get_extension_for_class(x509.BasicConstraints).value
        is_authority = constraints.ca
    except x509.ExtensionNotFound:
        is_authority = False
    except (
        ValueError,
        x509.DuplicateExtension,
        x509.InvalidVersion,
        x509.UnsupportedGeneralNameType,
    ):
        return _NO_CERTIFICATE
    return "" if is_authority else "does not have the CA bit set"


def _validate_update(new: Doc, old: Doc) -> Iterable[FieldError]:
    now, before = (doc["spec"].get("signerName", "") for doc in (new, old))
    yield from validate_unchanged("spec.signerName", now, before)


def _any_name(_: str) -> Iterable[str]:
    """Which names will do depends on the signer: see `_validate_names`."""
    return ()


def _row(doc: Doc, _: str) -> list[Any]:
    return [name_of(doc), doc["spec"].get("signerName") or NONE]


TRUST_BUNDLE = Kind(
    group="certificates.k8s.io",
    version="v1beta1",
    kind="ClusterTrustBundle",
    plural="clustertrustbundles",
    message="certificates.v1beta1.ClusterTrustBundle",
    namespaced=False,
    columns=(NAME, Column("SignerName")),
    row=_row,
    validate=_validate,
    validate_update=_validate_update,
    name_rule=_any_name,
    fields={"spec.signerName": text_in("spec", "signerName")},
    update_needs_version=True,
    deleted_as_status=True,
)
