"""What is recognised in the words of a driver that refuses, and what of that becomes a command."""

from typing import Any

import pytest

from mooring.why.answer import Answer, Ref, State, Step
from mooring.why.explain import explain
from mooring.why.refusal import missing_secret
from tests.unit.why.test_explain import DATA, said, storage_class
from tests.unit.why.worlds import NOW, claim, doc, whole_world

KEYS = {
    "csi.storage.k8s.io/provisioner-secret-name": "key",
    "csi.storage.k8s.io/provisioner-secret-namespace": "vault",
    "zone": "z1",
}
FAILED = 'failed to provision volume with StorageClass "fast": '


def answered(message: str, **parameters: str) -> Answer:
    chosen = storage_class(parameters=parameters or KEYS)
    told = said("PersistentVolumeClaim", "data", "ProvisioningFailed", f"{FAILED}{message}")
    driver = doc("CSIDriver", "disk.example", spec={})
    asks: dict[str, Any] = {"resources": {"requests": {"storage": "5Gi"}}}
    world = whole_world(claim(storageClassName="fast", **asks), chosen, told, driver)
    return explain(world, DATA, NOW)


def call(code: str, text: str = "no") -> str:
    return f"rpc error: code = {code} desc = {text}"


MEANT = {
    "a key of the class that the driver does not know": (
        call("InvalidArgument", 'unknown parameter "zone"'),
        "in vain until that changes",
        "without the parameter zone",
    ),
    "a key that is named without quotes": (
        call("InvalidArgument", "invalid parameter: zone"),
        "in vain until that changes",
        "without the parameter zone",
    ),
    "credentials that are refused": (
        call("Unauthenticated"),
        "does not accept the driver's credentials",
        "into secret key",
    ),
    "no room": (call("ResourceExhausted"), "there is no room", "for 2560Mi"),
    "too small": (
        call("OutOfRange", "at least 10Gi is needed"),
        "makes no volume of this size",
        "for 10Gi",
    ),
    "a volume of that name": (call("AlreadyExists"), "other properties", "under another name"),
    "a driver that is away": (call("Unavailable"), "does not answer", "says where driver"),
    "a driver that is slow": (call("DeadlineExceeded"), "in time", "says where driver"),
    "a secret that is missing": (
        'error getting secret key in namespace vault: secrets "key" not found',
        "not found",
        "makes the secret",
    ),
}


@pytest.mark.parametrize(("message", "meaning", "helps"), MEANT.values(), ids=MEANT)
def test_a_refusal_has_a_meaning_and_a_command(message: str, meaning: str, helps: str) -> None:
    answer = answered(message)
    assert meaning in answer.summary
    assert any(helps in fix.what_it_does for fix in answer.fixes), answer.fixes


@pytest.mark.parametrize(
    "message", ["the pool is on fire", call("Weird"), call("FailedPrecondition"), call("Internal")]
)
def test_what_is_not_recognised_is_quoted_and_changes_nothing(message: str) -> None:
    answer = answered(message)
    assert message in answer.summary
    assert all(fix.command.startswith("mooring why ") for fix in answer.fixes)


@pytest.mark.parametrize(
    "text",
    [
        'error getting secret x;reboot in namespace vault: secrets "x" not found',
        'error getting secret x in namespace $(reboot): secrets "x" not found',
        'fetching NodeStageSecretRef vault/-x failed: secrets "-x" not found',
    ],
)
def test_a_name_that_is_none_stands_in_no_command(text: str) -> None:
    assert missing_secret(text) is None
    assert all("reboot" not in fix.command for fix in answered(text).fixes)


def test_a_parameter_that_is_none_stands_in_no_command() -> None:
    answer = answered(call("InvalidArgument", 'unknown parameter "a|d;1e"'), **{"a|d;1e": "x"})
    assert answer.fixes == ()


def test_a_secret_of_staging_is_made_in_its_own_namespace() -> None:
    told = 'fetching NodeStageSecretRef vault/key failed: secrets "key" not found'
    assert missing_secret(told) == Ref("Secret", "key", "vault")


def test_who_must_act_is_who_can() -> None:
    volume = [link for link in answered(call("PermissionDenied")).links if link.step is Step.VOLUME]
    assert [(link.state, link.who) for link in volume] == [(State.BROKEN, "an administrator")]
