"""Secrets: readable by name only."""

import base64
import pickle

import msgspec
import pytest

from mooring.model.secret import Secret
from mooring.model.secret_value import SecretValue
from mooring.model.wire import read_document
from tests.unit.model.reading import read

DOCUMENT = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "csi-login", "namespace": "kube-system"},
    "type": "Opaque",
    "data": {"user": "YWRtaW4=", "empty": ""},
}


def test_values_are_there_for_who_asks() -> None:
    secret = read(DOCUMENT, Secret)
    assert secret.data["user"].reveal() == b"admin"
    assert secret.data["empty"].reveal() == b""


def test_nothing_prints_a_value() -> None:
    secret = read(DOCUMENT, Secret)
    shown = f"{secret} {secret!r} {secret.data} {secret.data['user']} {secret.data['user']!r:>9}"
    assert "user" in shown
    assert "admin" not in shown
    assert "YWRtaW4" not in shown


def test_a_value_cannot_be_encoded_or_pickled_by_accident() -> None:
    secret = read(DOCUMENT, Secret)
    with pytest.raises(TypeError):
        msgspec.json.encode(secret)
    with pytest.raises(TypeError):
        pickle.dumps(secret.data["user"])


def test_what_is_not_base64_is_refused_without_telling_it() -> None:
    broken = DOCUMENT | {"data": {"user": "hunter2!"}}
    with pytest.raises(msgspec.ValidationError) as refusal:
        read_document(broken, Secret)
    assert "hunter2" not in str(refusal.value)


def test_values_compare_by_content() -> None:
    assert SecretValue(b"a") == SecretValue(base64.b64decode("YQ=="))
    assert SecretValue(b"a") != SecretValue(b"b")
    assert SecretValue(b"a") != b"a"
    assert len({SecretValue(b"a"), SecretValue(b"a")}) == 1
