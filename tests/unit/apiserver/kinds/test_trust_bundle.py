import pytest

from mooring.apiserver.kinds.trust_bundle import TRUST_BUNDLE
from mooring.model.document import Doc
from tests.fakes.certificates import a_certificate
from tests.unit.apiserver.kinds.writing import NO_SUBDOMAIN, create, merged, printed, update

ONE, TWO = a_certificate("one"), a_certificate("two")
ROOTS: Doc = {
    "kind": "ClusterTrustBundle",
    "apiVersion": "certificates.k8s.io/v1beta1",
    "metadata": {"name": "roots"},
    "spec": {"trustBundle": ONE},
}
SIGNED = merged(ROOTS, {"metadata": {"name": "x.io:a:v1"}, "spec": {"signerName": "x.io/a"}})
HEADED = ONE.replace("-----\n", "-----\nOf: me\n\n", 1)
KEY = ONE.replace("CERTIFICATE", "PRIVATE KEY")
NOBODY = "-----BEGIN CERTIFICATE-----\nbWU=\n-----END CERTIFICATE-----\n"
PREFIX = "ClusterTrustBundle for signerName x.io/a must be named with prefix x.io:a:"


def wrong(text: str) -> str:
    return f'spec.trustBundle: Invalid value: "<value omitted>": {text}'


BUNDLES: dict[str, tuple[str, list[str]]] = {
    "an authority": (ONE, []),
    "two": (ONE + TWO, []),
    "text around": (f"mine:\n{ONE}", []),
    "none": ("", [wrong("at least one trust anchor must be provided")]),
    "none but text": ("trust me", [wrong("at least one trust anchor must be provided")]),
    "one twice": (ONE + TWO + ONE, [wrong("duplicate trust anchor (indices [0 2])")]),
    "something else than a certificate": (
        ONE + KEY,
        [wrong("entry 1 has bad block type: PRIVATE KEY")],
    ),
    "headers": (HEADED, [wrong("entry 0 has PEM block headers")]),
    "no certificate": (NOBODY, [wrong("entry 0 does not parse as X.509")]),
    "no authority": (
        a_certificate("leaf", ca=False),
        [wrong("entry 0 does not have the CA bit set")],
    ),
    "nothing said about being one": (
        a_certificate("old", ca=None),
        [wrong("entry 0 does not have the CA bit set")],
    ),
    "what is broken is told alone": (
        ONE + ONE + KEY + HEADED,
        [
            wrong("entry 2 has bad block type: PRIVATE KEY"),
            wrong("entry 3 has PEM block headers"),
        ],
    ),
    "1 MiB": (ONE.ljust(1024 * 1024), []),
    "more than that": (
        ONE.ljust(1024 * 1024 + 1),
        ["spec.trustBundle: Too long: may not be more than 1048576 bytes"],
    ),
}


@pytest.mark.parametrize(("pem", "complaints"), BUNDLES.values(), ids=BUNDLES)
def test_certificates(pem: str, complaints: list[str]) -> None:
    assert create(TRUST_BUNDLE, merged(ROOTS, {"spec": {"trustBundle": pem}})) == complaints


NAMED: dict[str, tuple[Doc, list[str]]] = {
    "a signer's": ({}, []),
    "a signer's, without its name": (
        {"metadata": {"name": "roots"}},
        [f'metadata.name: Invalid value: "roots": {PREFIX}'],
    ),
    "a name to be completed": (
        {"metadata": {"generateName": "x.io:a:v-", "name": "x.io:a:v-abcde"}},
        [],
    ),
    "one that cannot be": (
        {"metadata": {"generateName": "v-", "name": "v-abcde"}},
        [
            f'metadata.generateName: Invalid value: "v-": {PREFIX}',
            f'metadata.name: Invalid value: "v-abcde": {PREFIX}',
        ],
    ),
    "a signer without a domain": (
        {"metadata": {"name": "x:a:b"}, "spec": {"signerName": "x/a"}},
        [
            'spec.signerName: Invalid value: "x": '
            "should be a domain with at least two segments separated by dots"
        ],
    ),
    "nobody's": ({"metadata": {"name": "roots"}, "spec": {"signerName": None}}, []),
    "nobody's, with a name that is none": (
        {"metadata": {"name": "Roots"}, "spec": {"signerName": None}},
        [f'metadata.name: Invalid value: "Roots": {NO_SUBDOMAIN}'],
    ),
}


@pytest.mark.parametrize(("patch", "complaints"), NAMED.values(), ids=NAMED)
def test_names(patch: Doc, complaints: list[str]) -> None:
    assert create(TRUST_BUNDLE, merged(SIGNED, patch)) == complaints


UPDATED: dict[str, tuple[Doc, list[str]]] = {
    "certificates may change": ({"spec": {"trustBundle": TWO}}, []),
    "but not go": (
        {"spec": {"trustBundle": ""}},
        [wrong("at least one trust anchor must be provided")],
    ),
    "the signer may not change": (
        {"spec": {"signerName": "x.io/b"}},
        [
            'metadata.name: Invalid value: "x.io:a:v1": '
            "ClusterTrustBundle for signerName x.io/b must be named with prefix x.io:b:",
            'spec.signerName: Invalid value: "x.io/b": field is immutable',
        ],
    ),
    "nor go": (
        {"spec": {"signerName": None}},
        [
            'metadata.name: Invalid value: "x.io:a:v1": '
            'ClusterTrustBundle without signer name must not have ":" in its name',
            'spec.signerName: Invalid value: "": field is immutable',
        ],
    ),
}


@pytest.mark.parametrize(("patch", "complaints"), UPDATED.values(), ids=UPDATED)
def test_update(patch: Doc, complaints: list[str]) -> None:
    assert update(TRUST_BUNDLE, SIGNED, patch) == complaints


@pytest.mark.parametrize(("doc", "signer"), [(SIGNED, "x.io/a"), (ROOTS, "<none>")])
def test_a_row(doc: Doc, signer: str) -> None:
    assert printed(TRUST_BUNDLE, doc) == {"Name": doc["metadata"]["name"], "SignerName": signer}


@pytest.mark.parametrize(("doc", "signer"), [(SIGNED, "x.io/a"), (ROOTS, "")])
def test_bundles_are_selected_by_signer(doc: Doc, signer: str) -> None:
    assert {name: read(doc) for name, read in TRUST_BUNDLE.fields.items()} == {
        "spec.signerName": signer
    }
