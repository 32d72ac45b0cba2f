"""Names of signers, and of the trust bundles that belong to them."""

import pytest

from mooring.apiserver.kinds.signers import bundle_name_problems, signer_in, validate_signer_name
from tests.unit.apiserver.kinds.writing import NO_LABEL, NO_SUBDOMAIN

FORM = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
TWO_PARTS = "should be a domain with at least two segments separated by dots"
LONG_LABEL = "must be no more than 63 characters"
LONG_DOMAIN = ".".join(["a" * 63] * 4)  # 255 bytes

SIGNERS: dict[str, tuple[str, list[str]]] = {
    "a domain and a name": ("example.com/one", []),
    "a name with dots": ("example.com/team.one", []),
    "nothing": ("", ["s: Required value"]),
    "no name": ("example.com", [f's: Invalid value: "example.com": {FORM}']),
    "two names": ("example.com/a/b", [f's: Invalid value: "example.com/a/b": {FORM}']),
    "an empty name": (
        "example.com/",
        [f's: Invalid value: "": validating label "": {NO_SUBDOMAIN}'],
    ),
    "a domain of one word": ("example/a", [f's: Invalid value: "example": {TWO_PARTS}']),
    "no domain": (
        "/a",
        [
            f's: Invalid value: "": validating label "": {NO_LABEL}',
            f's: Invalid value: "": {TWO_PARTS}',
        ],
    ),
    "only the first bad word of a domain is told": (
        "A.B.com/a",
        [f's: Invalid value: "A.B.com": validating label "A": {NO_LABEL}'],
    ),
    "only the first bad word of a name is told": (
        "example.com/a.B.C",
        [f's: Invalid value: "a.B.C": validating label "B": {NO_SUBDOMAIN}'],
    ),
    "a word of a domain that is too long": (
        f"{'a' * 64}.com/a",
        [f's: Invalid value: "{"a" * 64}.com": validating label "{"a" * 64}": {LONG_LABEL}'],
    ),
    "a domain that is too long": (
        f"{LONG_DOMAIN}/a",
        ["s: Too long: may not be more than 253 bytes"],
    ),
    "the longest name": (f"example.com/{'a' * 253}.{'b' * 253}.{'c' * 51}", []),
    "one byte more": (
        f"example.com/{'a' * 253}.{'b' * 253}.{'c' * 52}",
        ["s: Too long: may not be more than 571 bytes"],
    ),
}


@pytest.mark.parametrize(("name", "complaints"), SIGNERS.values(), ids=SIGNERS)
def test_signers(name: str, complaints: list[str]) -> None:
    assert [str(error) for error in validate_signer_name(name, "s")] == complaints


WITHOUT_SIGNER = 'ClusterTrustBundle without signer name must not have ":" in its name'
ELSEWHERE = "ClusterTrustBundle for signerName x.io/a must be named with prefix x.io:a:"

# name, signer, what is wrong with it as a name, and as a prefix of names
BUNDLES: dict[str, tuple[str, str, list[str], list[str]]] = {
    "nobody's": ("roots", "", [], []),
    "nobody's, in the manner of a signer's": ("x.io:a:b", "", [WITHOUT_SIGNER], [WITHOUT_SIGNER]),
    "nobody's, in capitals": ("Roots", "", [NO_SUBDOMAIN], [NO_SUBDOMAIN]),
    "nobody's, that ends in a dash": ("roots-", "", [NO_SUBDOMAIN], []),
    "a signer's": ("x.io:a:v1", "x.io/a", [], []),
    "a signer's, that ends in a dash": ("x.io:a:v-", "x.io/a", [NO_SUBDOMAIN], []),
    "a signer's, a dash alone": ("x.io:a:-", "x.io/a", [NO_SUBDOMAIN], [NO_SUBDOMAIN]),
    "a signer's, without a word of its own": ("x.io:a:", "x.io/a", [NO_SUBDOMAIN], [NO_SUBDOMAIN]),
    "without the signer": ("v1", "x.io/a", [ELSEWHERE], [ELSEWHERE]),
    "of another signer": ("x.io:b:v1", "x.io/a", [ELSEWHERE], [ELSEWHERE]),
}


@pytest.mark.parametrize(("name", "signer", "as_name", "as_prefix"), BUNDLES.values(), ids=BUNDLES)
def test_bundles(name: str, signer: str, as_name: list[str], as_prefix: list[str]) -> None:
    assert list(bundle_name_problems(name, signer)) == as_name
    assert list(bundle_name_problems(name, signer, is_prefix=True)) == as_prefix


OWNERS = {"roots": "", "x.io:a:v1": "x.io/a", "x.io:a": "x.io", "x.io:a:b:v1": "x.io/a/b"}


@pytest.mark.parametrize(("name", "signer"), OWNERS.items(), ids=OWNERS)
def test_whose_bundle_a_name_tells(name: str, signer: str) -> None:
    assert signer_in(name) == signer
