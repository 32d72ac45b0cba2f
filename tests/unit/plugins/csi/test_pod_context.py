"""What drivers are told about pods, and the tokens that they are given."""

import json

import pytest
from msgspec.structs import replace

from mooring.errors import ConnectionLost
from mooring.model.csi_driver import CsiDriverSpec, TokenRequest
from mooring.model.keys import Key
from mooring.plugins.contract import NotStarted
from mooring.plugins.csi.pod_context import account_tokens, pod_info
from mooring.plugins.volume_host import TokenWish
from tests.unit.plugins.csi.world import POD
from tests.unit.plugins.objects import PlayedApi

ROBOT = replace(POD, spec=replace(POD.spec, service_account_name="robot"))
TELLING = CsiDriverSpec(pod_info_on_mount=True)
TOKENS = "csi.storage.k8s.io/serviceAccount.tokens"


def test_all_five_keys() -> None:
    assert pod_info(TELLING, ROBOT, is_inline=True) == {
        "csi.storage.k8s.io/pod.name": "web",
        "csi.storage.k8s.io/pod.namespace": "default",
        "csi.storage.k8s.io/pod.uid": POD.uid,
        "csi.storage.k8s.io/serviceAccount.name": "robot",
        "csi.storage.k8s.io/ephemeral": "true",
    }
    shown = pod_info(TELLING, ROBOT, is_inline=False)
    assert shown["csi.storage.k8s.io/ephemeral"] == "false"


def test_no_key_unless_the_driver_asks_for_it() -> None:
    assert pod_info(CsiDriverSpec(), ROBOT, is_inline=True) == {}


async def test_one_token_per_audience_bound_to_the_pod() -> None:
    objects = PlayedApi()
    wanted = (TokenRequest("vault", 600), TokenRequest())
    tokens = await account_tokens(objects, CsiDriverSpec(token_requests=wanted), ROBOT)
    entry = {"token": "token-1", "expirationTimestamp": "1970-01-01T00:00:00Z"}
    assert json.loads(tokens.reveal()[TOKENS]) == {"": entry, "vault": entry}
    account = Key("default", "robot")
    assert objects.wishes == [
        TokenWish(account, "web", POD.uid, ("vault",), 600),
        TokenWish(account, "web", POD.uid, (), 3600),
    ]
    assert "token-1" not in repr(tokens)


async def test_who_wants_none_gets_none() -> None:
    objects = PlayedApi()
    assert not await account_tokens(objects, CsiDriverSpec(), ROBOT)
    assert objects.wishes == []


async def test_without_a_token_nothing_is_begun() -> None:
    objects = PlayedApi()
    objects.trouble = ConnectionLost("no answer")
    spec = CsiDriverSpec(token_requests=(TokenRequest("a"),))
    with pytest.raises(NotStarted, match="accoount token attributes: no answer"):
        await account_tokens(objects, spec, ROBOT)
