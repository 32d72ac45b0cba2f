"""TLS with a real server: whom we believe, and what we show."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mooring.client.connect import connect, connect_to
from mooring.client.credentials import Given, Held, InFile, Proof
from mooring.client.endpoint import Endpoint
from mooring.client.tls import Tls, Trust
from mooring.clock import RealClock
from mooring.errors import ConnectionLost, UsageError
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.secret_value import SecretValue
from tests.fakes.clock import VirtualClock
from tests.fakes.real_server import RealServer
from tests.unit.client.certificates import Authority, Certificate
from tests.unit.client.kubeconfigs import a_kubeconfig, encoded, written
from tests.unit.client.scripted_server import Serving, a_stored, a_tls_server, scripted

DATA = Key("default", "data")


@pytest.fixture
async def serving(tmp_path: Path) -> AsyncIterator[Serving]:
    async with a_tls_server(tmp_path, "127.0.0.1") as found:
        yield found


async def get(endpoint: Endpoint) -> Claim:
    async with connect_to(endpoint, VirtualClock()) as client:
        return await client.get(Claim, DATA)


async def test_a_server_of_the_authority_is_trusted(serving: Serving) -> None:
    serving.script.answer(a_stored())
    endpoint = Endpoint(serving.script.url, Trust(serving.authority.pem))
    assert (await get(endpoint)).name == "data"


async def test_anyone_is_trusted_blindly(serving: Serving) -> None:
    serving.script.answer(a_stored())
    endpoint = Endpoint(serving.script.url, Trust(skip_verify=True))
    assert (await get(endpoint)).name == "data"


async def test_a_server_of_another_authority_is_not(serving: Serving) -> None:
    with pytest.raises(ConnectionLost) as told:
        await get(Endpoint(serving.script.url, Trust(Authority("another").pem)))
    assert re.fullmatch(
        rf"the certificate of {serving.script.url} cannot be trusted: [\w -]+; "
        "check certificate-authority and tls-server-name in the kubeconfig",
        str(told.value),
    )


async def test_a_certificate_for_another_name_is_not_trusted(tmp_path: Path) -> None:
    async with a_tls_server(tmp_path, "api.internal") as serving:
        trust = Trust(serving.authority.pem)
        with pytest.raises(ConnectionLost, match="IP address mismatch"):
            await get(Endpoint(serving.script.url, trust))
        serving.script.answer(a_stored())
        trust = Trust(serving.authority.pem, server_name="api.internal")
        assert (await get(Endpoint(serving.script.url, trust))).name == "data"


async def test_a_server_without_tls_is_told_in_one_line() -> None:
    async with scripted() as script:
        with pytest.raises(ConnectionLost) as told:
            await get(Endpoint(script.url.replace("http:", "https:"), Trust(skip_verify=True)))
    assert "\n" not in str(told.value)


async def test_mooring_itself_is_not_trusted_with_the_wrong_authority(
    real_server: RealServer, tmp_path: Path
) -> None:
    cluster = {
        "server": real_server.url,
        "certificate-authority-data": encoded(Authority().pem.decode()),
    }
    path = written(tmp_path / "config", a_kubeconfig(cluster, {"token": real_server.token()}))
    async with connect(path, RealClock()) as client:
        with pytest.raises(ConnectionLost, match="cannot be trusted"):
            await client.list(Claim)


def held(certificate: Certificate) -> Held:
    return Held(
        certificate=Given(SecretValue(certificate.pem)), key=Given(SecretValue(certificate.key))
    )


async def test_a_client_certificate_is_shown(serving: Serving) -> None:
    serving.script.answer(a_stored())
    own = serving.authority.certificate("client-1")
    await get(Endpoint(serving.script.url, Trust(serving.authority.pem), held(own)))
    assert serving.script.asked[0].peer == "client-1"


async def test_a_renewed_certificate_is_shown_from_then_on(
    serving: Serving, tmp_path: Path
) -> None:
    certificate, key = tmp_path / "client.crt", tmp_path / "client.key"

    def renew(name: str) -> None:
        own = serving.authority.certificate(name)
        certificate.write_bytes(own.pem)
        key.write_bytes(own.key)

    renew("client-1")
    source = Held(certificate=InFile(certificate, "certificate"), key=InFile(key, "key"))
    endpoint = Endpoint(serving.script.url, Trust(serving.authority.pem), source)
    async with connect_to(endpoint, VirtualClock()) as client:
        for _ in range(3):
            serving.script.answer(a_stored())
        await client.get(Claim, DATA)
        await client.get(Claim, DATA)
        renew("client-02")
        await client.get(Claim, DATA)
    assert [asked.peer for asked in serving.script.asked] == ["client-1", "client-1", "client-02"]


def test_contexts_are_kept_as_long_as_the_certificate_stays() -> None:
    tls = Tls(Trust())
    own, other = Authority().certificate("a"), Authority().certificate("b")
    first = tls.context(Proof(SecretValue(b"t1"), own.pem, SecretValue(own.key)))
    assert tls.context(Proof(SecretValue(b"t2"), own.pem, SecretValue(own.key))) is first
    assert tls.context(Proof(None, other.pem, SecretValue(other.key))) is not first


OWN, OTHER = Authority().certificate("a"), Authority().certificate("b")
UNUSABLE: dict[str, tuple[Trust, Proof, str]] = {
    "an authority that is none": (Trust(b"x"), Proof(), "certificate-authority holds no"),
    "an authority that is no text": (Trust(b"\xff"), Proof(), "certificate-authority holds no"),
    "a certificate that is none": (
        Trust(),
        Proof(None, b"x", SecretValue(OWN.key)),
        "cannot be used",
    ),
    "the key of another": (
        Trust(),
        Proof(None, OWN.pem, SecretValue(OTHER.key)),
        "belong together",
    ),
    "a key with a password": (
        Trust(),
        Proof(None, OWN.pem, SecretValue(OWN.locked_key)),
        "without a password",
    ),
}


@pytest.mark.parametrize(("trust", "proof", "words"), UNUSABLE.values(), ids=UNUSABLE)
def test_what_cannot_be_used_is_a_mistake(trust: Trust, proof: Proof, words: str) -> None:
    with pytest.raises(UsageError, match=words) as told:
        Tls(trust).context(proof)
    assert "\n" not in str(told.value)
