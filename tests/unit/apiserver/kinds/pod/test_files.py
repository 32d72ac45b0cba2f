from typing import Any

import pytest

from mooring.model.document import Doc
from mooring.model.names import qualified_name
from tests.unit.apiserver.kinds.pods import complaints
from tests.unit.apiserver.kinds.writing import NO_SUBDOMAIN

AT = "spec.volumes[0]"
MODE = "must be a number between 0 and 0777 (octal), both inclusive"
TWICE = "conflicting duplicate paths"


def of(**source: Any) -> list[str]:
    return complaints(volumes=[{"name": "v", **source}])


def items(*given: Doc) -> Doc:
    return {"items": list(given)}


KEYED: dict[str, tuple[Doc, list[str]]] = {
    "a key and a path": (items({"key": "k", "path": "a/b"}), []),
    "both are required": (
        items({}),
        ["{}.items[0].key: Required value", "{}.items[0].path: Required value"],
    ),
    "a path is relative": (
        items({"key": "k", "path": "/a"}),
        ['{}.items[0].path: Invalid value: "/a": must be a relative path'],
    ),
    "a path never goes up": (
        items({"key": "k", "path": "a/../b"}),
        ["{}.items[0].path: Invalid value: \"a/../b\": must not contain '..'"],
    ),
    "a path is none of the names for swapping files": (
        items({"key": "k", "path": "..data"}),
        ["{}.items[0].path: Invalid value: \"..data\": must not start with '..'"],
    ),
    "each file may have its mode": (
        items({"key": "k", "path": "p", "mode": 0o1000}),
        [f"{{}}.items[0].mode: Invalid value: 512: {MODE}"],
    ),
    "all may have another": (
        {"defaultMode": -1},
        [f"{{}}.defaultMode: Invalid value: -1: {MODE}"],
    ),
    "0777 is the most": ({"defaultMode": 0o777}, []),
}


@pytest.mark.parametrize(("fields", "expected"), KEYED.values(), ids=KEYED)
@pytest.mark.parametrize(
    ("name", "reference"), [("secret", {"secretName": "s"}), ("configMap", {"name": "c"})]
)
def test_files_from_keys(name: str, reference: Doc, fields: Doc, expected: list[str]) -> None:
    given = of(**{name: {**reference, **fields}})
    assert given == [text.replace("{}", f"{AT}.{name}") for text in expected]


def test_a_secret_is_named() -> None:
    assert of(secret={}) == [f"{AT}.secret.secretName: Required value"]


def test_a_config_map_is_named() -> None:
    assert of(configMap={}) == [f"{AT}.configMap.name: Required value"]


def field(label: str, **more: Any) -> Doc:
    return {"path": "p", "fieldRef": {"fieldPath": label}, **more}


def resource(**reference: Any) -> Doc:
    return {"path": "p", "resourceFieldRef": reference}


FIELDS = (
    '"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", '
    '"metadata.uid"'
)
DOWNWARD: dict[str, tuple[Doc, list[str]]] = {
    "the labels": (field("metadata.labels"), []),
    "one label": (field("metadata.labels['app']"), []),
    "what a file cannot follow": (
        field("status.podIP"),
        [f'{{}}.fieldRef.fieldPath: Unsupported value: "status.podIP": supported values: {FIELDS}'],
    ),
    "a resource of a container": (resource(containerName="c", resource="limits.cpu"), []),
    "of which one must be said": (
        resource(resource="limits.cpu"),
        ["{}.resourceFieldRef.containerName: Required value"],
    ),
    "either the one or the other": (
        {"path": "p"},
        ["{}: Required value: one of fieldRef and resourceFieldRef is required"],
    ),
    "not both": (
        {**field("metadata.name"), **resource(containerName="c", resource="limits.cpu")},
        [
            '{}: Invalid value: "resource": '
            "fieldRef and resourceFieldRef can not be specified simultaneously"
        ],
    ),
    "in a file": (field("metadata.name", path=""), ["{}.path: Required value"]),
    "below the volume": (
        field("metadata.name", path="../x"),
        ["{}.path: Invalid value: \"../x\": must not contain '..'"],
    ),
    "with a mode": (
        field("metadata.name", mode=0o1000),
        [f"{{}}.mode: Invalid value: 512: {MODE}"],
    ),
}


@pytest.mark.parametrize(("item", "expected"), DOWNWARD.values(), ids=DOWNWARD)
def test_files_about_the_pod(item: Doc, expected: list[str]) -> None:
    at = f"{AT}.downwardAPI"
    assert of(downwardAPI=items(item)) == [text.replace("{}", at) for text in expected]
    at = f"{AT}.projected.sources[0].downwardAPI"
    given = of(projected={"sources": [{"downwardAPI": items(item)}]})
    assert given == [text.replace("{}", at) for text in expected]


P = f"{AT}.projected"
KEY_TYPES = '"RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"'
PROJECTED: dict[str, tuple[list[Doc], list[str]]] = {
    "nothing": ([], []),
    "several sources in one directory": (
        [
            {"secret": {"name": "s", **items({"key": "k", "path": "a"})}},
            {"configMap": {"name": "c", **items({"key": "k", "path": "b"})}},
            {"serviceAccountToken": {"path": "token"}},
        ],
        [],
    ),
    "a secret is named": ([{"secret": {}}], [f"{P}.sources[0].secret.name: Required value"]),
    "a config map is named": (
        [{"configMap": {}}],
        [f"{P}.sources[0].configMap.name: Required value"],
    ),
    "its keys follow the rules": (
        [{"configMap": {"name": "c", **items({"key": "k", "path": "/x"})}}],
        [f'{P}.sources[0].configMap.items[0].path: Invalid value: "/x": must be a relative path'],
    ),
    "a token lasts ten minutes at least": (
        [{"serviceAccountToken": {"path": "t", "expirationSeconds": 599}}],
        [
            f"{P}.sources[0].serviceAccountToken.expirationSeconds: "
            "Invalid value: 599: may not specify a duration less than 10 minutes"
        ],
    ),
    "ten minutes are enough": (
        [{"serviceAccountToken": {"path": "t", "expirationSeconds": 600}}],
        [],
    ),
    "and 2^32 seconds at most": (
        [{"serviceAccountToken": {"path": "t", "expirationSeconds": 2**32 + 1}}],
        [
            f"{P}.sources[0].serviceAccountToken.expirationSeconds: "
            "Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds"
        ],
    ),
    "which is not too long": (
        [{"serviceAccountToken": {"path": "t", "expirationSeconds": 2**32}}],
        [],
    ),
    "a token has a path, told at the volume": (
        [{"serviceAccountToken": {}}],
        [f"{P}.path: Required value"],
    ),
    "which stays below the volume": (
        [{"serviceAccountToken": {"path": "../t"}}],
        [f"{P}.path: Invalid value: \"../t\": must not contain '..'"],
    ),
    "one source at a time": (
        [{"secret": {"name": "s"}, "configMap": {"name": "c"}}],
        [f"{P}.sources[0]: Forbidden: may not specify more than 1 volume type per source"],
    ),
    "no file twice": (
        [
            {"secret": {"name": "s", **items({"key": "k", "path": "a"})}},
            {"configMap": {"name": "c", **items({"key": "k", "path": "a"})}},
        ],
        [f'{P}: Invalid value: "c": {TWICE}'],
    ),
    "nor one about the pod": (
        [
            {"secret": {"name": "s", **items({"key": "k", "path": "p"})}},
            {"downwardAPI": items(field("metadata.name"))},
        ],
        [f'{P}: Invalid value: "p": {TWICE}'],
    ),
    "a bundle of trust has a name or a signer": (
        [{"clusterTrustBundle": {"path": "ca"}}],
        [
            f"{P}.sources[0].clusterTrustBundle: Required value: "
            "either name or signerName must be specified"
        ],
    ),
    "not both": (
        [{"clusterTrustBundle": {"path": "ca", "name": "n", "signerName": "s"}}],
        [
            f"{P}.sources[0].clusterTrustBundle: Invalid value: "
            '{"path":"ca","name":"n","signerName":"s"}: '
            "only one of name and signerName may be used"
        ],
    ),
    "and a path": (
        [{"clusterTrustBundle": {"name": "n"}}],
        [f"{P}.sources[0].clusterTrustBundle.path: Required value"],
    ),
    "a bundle by name": ([{"clusterTrustBundle": {"path": "ca", "name": "x.io:a:v1"}}], []),
    "its name is not empty": (
        [{"clusterTrustBundle": {"path": "ca", "name": ""}}],
        [
            f"{P}.sources[0].clusterTrustBundle.name: Required value: must be a valid object name",
            f'{P}.sources[0].clusterTrustBundle.name: Invalid value: "": '
            f"not a valid clustertrustbundlename: {NO_SUBDOMAIN}",
        ],
    ),
    "nor anything else than a name": (
        [{"clusterTrustBundle": {"path": "ca", "name": "x.io:a:"}}],
        [
            f'{P}.sources[0].clusterTrustBundle.name: Invalid value: "x.io:a:": '
            f"not a valid clustertrustbundlename: {NO_SUBDOMAIN}",
        ],
    ),
    "one that is named is not chosen by labels": (
        [{"clusterTrustBundle": {"path": "ca", "name": "n", "labelSelector": {}}}],
        [
            f"{P}.sources[0].clusterTrustBundle.labelSelector: Invalid value: {{}}: "
            "labelSelector must be unset if name is specified"
        ],
    ),
    "bundles of a signer": (
        [
            {
                "clusterTrustBundle": {
                    "path": "ca",
                    "signerName": "x.io/a",
                    "labelSelector": {"matchLabels": {"a": "b"}},
                }
            }
        ],
        [],
    ),
    "the signer is not empty": (
        [{"clusterTrustBundle": {"path": "ca", "signerName": ""}}],
        [
            f"{P}.sources[0].clusterTrustBundle.signerName: Required value: "
            "must be a valid signer name",
            f"{P}.sources[0].clusterTrustBundle.signerName: Required value",
        ],
    ),
    "labels of its bundles have good names": (
        [
            {
                "clusterTrustBundle": {
                    "path": "ca",
                    "signerName": "x.io/a",
                    "labelSelector": {"matchLabels": {"": "b"}},
                }
            }
        ],
        [
            f"{P}.sources[0].clusterTrustBundle.labelSelector.matchLabels: "
            f'Invalid value: "": {problem}'
            for problem in qualified_name("")
        ],
    ),
    "a certificate has a signer, a kind of key and a file": (
        [{"podCertificate": {}}],
        [
            f"{P}.sources[0].podCertificate.signerName: Required value",
            f"{P}.sources[0].podCertificate.keyType: Unsupported value: "
            f'"": supported values: {KEY_TYPES}',
            f"{P}.sources[0].podCertificate: Required value: specify at least one of "
            "credentialBundlePath, keyPath, and certificateChainPath",
        ],
    ),
    "a whole one is fine": (
        [{"podCertificate": {"signerName": "s", "keyType": "ED25519", "keyPath": "k"}}],
        [],
    ),
}


@pytest.mark.parametrize(("sources", "expected"), PROJECTED.values(), ids=PROJECTED)
def test_projected_volumes(sources: list[Doc], expected: list[str]) -> None:
    assert of(projected={"sources": sources}) == expected


def test_without_an_account_there_are_no_tokens() -> None:
    source = {"sources": [{"secret": {"name": "s"}}, {"serviceAccountToken": {"path": "t"}}]}
    volumes = [{"name": "v", "projected": source}]
    assert complaints(volumes=volumes, serviceAccountName="") == [
        f"{P}.sources[1].serviceAccountToken: Forbidden: "
        "must not be specified when serviceAccountName is not set"
    ]


LABELS: dict[str, tuple[str, list[str]]] = {
    "a label's key is qualified": (
        "metadata.labels['not a key']",
        [f'{{}}: Invalid value: "not a key": {next(iter(qualified_name("not a key")))}'],
    ),
    "an annotation's key may have capitals": ("metadata.annotations['Example.COM/x']", []),
    "nothing else has parts": (
        "metadata.name['x']",
        [
            "{}.fieldPath: Invalid value: \"metadata.name['x']\": error converting fieldPath: "
            "field label does not support subscript: metadata.name['x']"
        ],
    ),
    "what no pod has": (
        "spec.color",
        [
            '{}.fieldPath: Invalid value: "spec.color": error converting fieldPath: '
            "field label not supported: spec.color"
        ],
    ),
    "nothing": ("", ["{}.fieldPath: Required value"]),
}


@pytest.mark.parametrize(("path", "expected"), LABELS.values(), ids=LABELS)
def test_fields_of_the_pod(path: str, expected: list[str]) -> None:
    at = f"{AT}.downwardAPI.fieldRef"
    assert of(downwardAPI=items(field(path))) == [text.replace("{}", at) for text in expected]
