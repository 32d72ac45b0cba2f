"""Secrets that a class names; what the claim's owner writes never chooses a namespace."""

import pytest

from mooring.model.reference import SecretReference
from mooring.sidecars.provisioner.secret_templates import PROVISIONER, Subject, find_secret
from mooring.sidecars.provisioner.waiting_reason import WaitingReason

PREFIX = "csi.storage.k8s.io"
SUBJECT = Subject("pv-1", "team", "data", {"k": "noted", "bad": "Not A Name"})


def _new(name: str, namespace: str) -> dict[str, str]:
    key = f"{PREFIX}/provisioner-secret"
    return {f"{key}-name": name, f"{key}-namespace": namespace}


def _default(name: str, namespace: str) -> dict[str, str]:
    return {f"{PREFIX}/secret-name": name, f"{PREFIX}/secret-namespace": namespace}


OLD = {"csiProvisionerSecretName": "old", "csiProvisionerSecretNamespace": "ns"}

FOUND: dict[str, tuple[dict[str, str], SecretReference | None]] = {
    "none is named": ({}, None),
    "plain words are taken as they are": (_new("a", "b"), SecretReference("a", "b")),
    "a name may hold volume, claim and namespace": (
        _new("${pv.name}-${pvc.name}-${pvc.namespace}", "b"),
        SecretReference("pv-1-data-team", "b"),
    ),
    "a name may come from an annotation": (
        _new("${pvc.annotations['k']}", "b"),
        SecretReference("noted", "b"),
    ),
    "a namespace may hold volume and namespace": (
        _new("a", "${pvc.namespace}"),
        SecretReference("a", "team"),
    ),
    "keys of an older time work": (OLD, SecretReference("old", "ns")),
    "the default serves what is not named": (_default("d", "ns"), SecretReference("d", "ns")),
    "what is named beats the default": (
        _default("d", "ns") | _new("a", "b"),
        SecretReference("a", "b"),
    ),
}

_BOTH = "failed to get name and namespace template from params: "
REFUSED = {
    "an unknown token": (_new("${pvc.uid}", "b"), 'invalid tokens: ["pvc.uid"]'),
    "tokens without braces are tokens": (_new("$pvc", "b"), 'invalid tokens: ["pvc"]'),
    "several unknown tokens, sorted": (_new("${z}${a}", "b"), 'invalid tokens: ["a" "z"]'),
    "the claim's name in a namespace": (_new("a", "${pvc.name}"), 'invalid tokens: ["pvc.name"]'),
    "an annotation in a namespace": (
        _new("a", "${pvc.annotations['k']}"),
        "invalid tokens: [\"pvc.annotations['k']\"]",
    ),
    "a name without a namespace": (
        {f"{PREFIX}/provisioner-secret-name": "a"},
        _BOTH + "either name and namespace for Provisioner secrets specified,"
        " Both must be specified",
    ),
    "an empty name": (
        _new("", "b"),
        _BOTH + "Provisioner secrets specified in parameters but value of either namespace or"
        " name is empty",
    ),
    "both forms at once": (
        OLD | _new("a", "b"),
        _BOTH + f'Provisioner secrets specified in parameters with both "csi" and "{PREFIX}/" keys',
    ),
    "what does not become a secret's name": (
        _new("${pvc.annotations['bad']}", "b"),
        'resolved to "Not A Name" which is not a valid secret name',
    ),
    "what is no namespace's name": (_new("a", "b.c"), '"b.c" is not a valid namespace name'),
}


@pytest.mark.parametrize(("parameters", "expected"), FOUND.values(), ids=FOUND)
def test_a_secret_is_found(parameters: dict[str, str], expected: SecretReference | None) -> None:
    assert find_secret(PROVISIONER, parameters, SUBJECT) == expected


@pytest.mark.parametrize(("parameters", "text"), REFUSED.values(), ids=REFUSED)
def test_a_secret_is_refused(parameters: dict[str, str], text: str) -> None:
    with pytest.raises(WaitingReason) as refused:
        find_secret(PROVISIONER, parameters, SUBJECT)
    assert str(refused.value).endswith(text)
