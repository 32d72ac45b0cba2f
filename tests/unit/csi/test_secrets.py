"""No secret is shown: not by itself, not in a log, not in what a driver says back."""

import base64
import json
import logging
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.csi.channel import Connection
from mooring.csi.node import Node
from mooring.csi.outcome import Code, Done, Refused, Uncertain
from mooring.csi.proto import csi_pb2
from mooring.csi.requests import PublishVolume
from mooring.csi.secrets import STRIPPED, TOKENS_KEY, Secrets, Unsendable
from mooring.model.secret_value import SecretValue
from tests.fakes.csi_calls import CAPABILITY, WITH_SECRETS
from tests.fakes.csi_driver import After, Dies, Fails, FakeCsiDriver, Hangs, Replies

PASSWORD = 'p@ss "word"/17\\ü'
SECRETS = Secrets.of_text({"user": "alice-the-admin", "password": PASSWORD})

SPELLINGS = {
    "as it is": PASSWORD,
    "in JSON": json.dumps(PASSWORD)[1:-1],
    "in JSON that is not ASCII": json.dumps(PASSWORD, ensure_ascii=False)[1:-1],
    "in a URL": quote(PASSWORD, safe=""),
    "in base64": base64.b64encode(PASSWORD.encode()).decode(),
    "in base64 without padding": base64.b64encode(PASSWORD.encode()).decode().rstrip("="),
    "quoted by Python": repr(PASSWORD)[1:-1],
}


@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS)
def test_a_value_is_taken_out_of_a_text(spelling: str) -> None:
    assert SECRETS.mask(f"login {spelling} failed") == f"login {STRIPPED} failed"


def test_secrets_print_their_keys_only() -> None:
    assert repr(SECRETS) == str(SECRETS) == "Secrets(keys=['password', 'user'])"


def test_a_line_of_a_longer_secret_is_taken_out() -> None:
    key = Secrets.of_text({"key": "-----BEGIN KEY-----\nc2VjcmV0IGxpbmU\n-----END KEY-----\n"})
    assert key.mask("cannot read c2VjcmV0IGxpbmU") == f"cannot read {STRIPPED}"


def test_a_short_value_is_taken_out_where_it_stands_alone() -> None:
    assert Secrets.of_text({"pin": "17"}).mask("pin 17 on vol-170") == f"pin {STRIPPED} on vol-170"


def test_an_empty_value_takes_nothing_out() -> None:
    assert Secrets.of_text({"empty": "", "blank": " \n"}).mask("all is well") == "all is well"


def test_a_token_is_taken_out_of_its_document() -> None:
    document = json.dumps({"aud": {"token": "eyJhbGciOi", "expirationTimestamp": "2030"}})
    tokens = Secrets.of_text({TOKENS_KEY: document})
    assert tokens.mask("bad token eyJhbGciOi") == f"bad token {STRIPPED}"


@given(
    value=st.text(min_size=4).filter(lambda value: len(value.strip()) >= 4),
    before=st.text(),
    after=st.text(),
)
def test_what_is_masked_is_gone(value: str, before: str, after: str) -> None:
    masked = Secrets.of_text({"key": value}).mask(f"{before}{value}{after}")
    assert [part for part in masked.split(STRIPPED) if value.strip() in part] == []
    assert STRIPPED in masked


def test_a_value_that_is_no_text_is_refused_by_the_name_of_its_key() -> None:
    with pytest.raises(Unsendable, match="secret key 'key' contains invalid UTF-8") as caught:
        Secrets({"key": SecretValue(b"\xff\xfe-hidden")}).reveal()
    assert "hidden" not in str(caught.value)
    assert caught.value.__suppress_context__


HIDDEN = "correct-horse-battery"
ECHO = f"cannot log in with {HIDDEN}"
MASKED = f"cannot log in with {STRIPPED}"
ONE_SECRET = Secrets.of_text({"password": HIDDEN})


@pytest.mark.parametrize("rpc", WITH_SECRETS)
async def test_no_failure_of_an_rpc_shows_its_secret(
    rpc: str, driver: FakeCsiDriver, connection: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    call = WITH_SECRETS[rpc]
    driver.next(rpc, *(Fails(code, ECHO) for code in Code if code is not Code.OK))
    for code in Code:
        if code is not Code.OK:
            failure = await call(connection, ONE_SECRET, 5)
            assert isinstance(failure, Refused | Uncertain)
            assert (failure.code, failure.message) == (code, MASKED)
    driver.next(rpc, After(Fails(Code.INTERNAL, ECHO)), Hangs(), Dies())
    for seconds in (5.0, 0.5, 5.0):
        outcome = await call(connection, ONE_SECRET, seconds)
        assert HIDDEN not in repr(outcome)
    assert len(driver.secrets_seen) == len(Code) - 1 + 3
    assert {secrets["password"] for _, secrets in driver.secrets_seen} == {HIDDEN}
    assert rpc in caplog.text  # the log was on, and tells of the calls
    assert HIDDEN not in caplog.text


async def test_service_account_tokens_in_the_context_stay_hidden(
    driver: FakeCsiDriver, connection: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    tokens = Secrets.of_text({TOKENS_KEY: json.dumps({"": {"token": HIDDEN}})})
    volume = PublishVolume(
        "vol-1",
        "/nowhere/target",
        CAPABILITY,
        readonly=True,
        staging_path="/nowhere/staging",
        volume_context={"share": "/data"},
        secret_context=tokens,
    )
    driver.next("NodePublishVolume", Fails(Code.INTERNAL, ECHO))
    assert await Node(connection).publish(volume, within=5) == Refused(Code.INTERNAL, MASKED)
    assert await Node(connection).publish(volume, within=5) == Done(None)
    (_, sent) = driver.requests("NodePublishVolume")
    assert isinstance(sent, csi_pb2.NodePublishVolumeRequest)
    assert dict(sent.volume_context) == {
        "share": "/data",
        TOKENS_KEY: json.dumps({"": {"token": HIDDEN}}),
    }
    assert HIDDEN not in caplog.text + repr(volume)


async def test_a_secret_that_cannot_be_sent_is_not_shown(
    driver: FakeCsiDriver, connection: Connection
) -> None:
    unsendable = Secrets({"key": SecretValue(b"\xff\xfe-hidden")})
    assert await WITH_SECRETS["NodeStageVolume"](connection, unsendable, 5) == Refused(
        Code.INTERNAL,
        "grpc: error while marshaling: secret key 'key' contains invalid UTF-8",
    )
    assert driver.calls == []


async def test_the_message_of_a_validation_is_masked(
    driver: FakeCsiDriver, connection: Connection
) -> None:
    driver.next(
        "ValidateVolumeCapabilities",
        Replies(lambda _: csi_pb2.ValidateVolumeCapabilitiesResponse(message=ECHO)),
    )
    driver.state.volumes["vol-1"] = csi_pb2.Volume(volume_id="vol-1")
    outcome = await WITH_SECRETS["ValidateVolumeCapabilities"](connection, ONE_SECRET, 5)
    assert isinstance(outcome, Done)
    assert outcome.value.message == MASKED
