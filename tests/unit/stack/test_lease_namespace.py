"""Leases are where those of upstream's sidecars are; whoever cannot have one is told so, once."""

import logging
from pathlib import Path

import pytest

from mooring.client.kubeconfig import Surroundings
from mooring.errors import Conflict, Forbidden, NotFound
from mooring.model.keys import Key
from mooring.model.lease import Lease
from mooring.stack.lease_namespace import find_lease_namespace
from mooring.stack.lease_rights import TellsOfRights
from tests.fakes.client import FakeClient, FakeServer
from tests.fakes.clock import VirtualClock

KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: here
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: here, context: {cluster: c, user: "", namespace: %s}}]
"""
PLACES = {
    "the flag wins": ("asked", "by-env", "by-account", "by-context", "asked"),
    "then the pod, by its environment": ("", "by-env", "by-account", "by-context", "by-env"),
    "then the pod, by its account": ("", "", "by-account", "by-context", "by-account"),
    "then the context": ("", "", "", "by-context", "by-context"),
    "else the default": ("", "", "", '""', "default"),
}


@pytest.mark.parametrize(
    ("flag", "env", "account", "context", "expected"), PLACES.values(), ids=PLACES
)
def test_29_where_leases_are(
    tmp_path: Path, flag: str, env: str, account: str, context: str, expected: str
) -> None:
    config = tmp_path / "config"
    config.write_text(KUBECONFIG % context)
    directory = tmp_path / "account"
    directory.mkdir()
    if account:
        (directory / "namespace").write_text(f"{account}\n")
    around = Surroundings({"POD_NAMESPACE": env}, VirtualClock(), directory)
    assert find_lease_namespace(flag, config, around) == expected


KEY = Key("storage", "external-attacher-leader-d")


async def test_29_missing_rights_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="mooring")
    clock = VirtualClock()
    inner = FakeClient(FakeServer(clock), clock)
    client = TellsOfRights(inner, KEY)
    inner.fail("get", Forbidden("leases is forbidden"), times=3)
    for _ in range(3):
        with pytest.raises(Forbidden):
            await client.get(Lease, KEY)
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 1
    for word in ("NOTHING IS SERVED", str(KEY), "leases is forbidden", "remedy="):
        assert word in told[0]


async def test_a_lease_that_is_not_there_yet_or_anothers_is_nothing_to_tell(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = VirtualClock()
    inner = FakeClient(FakeServer(clock), clock)
    client = TellsOfRights(inner, KEY)
    with pytest.raises(NotFound):
        await client.get(Lease, KEY)
    made = await client.create(
        Lease, {"metadata": {"namespace": KEY.namespace, "name": KEY.name}, "spec": {}}
    )
    inner.fail("patch", Conflict("somebody wrote"))
    with pytest.raises(Conflict):
        await client.patch(made, {"spec": {}})
    assert not caplog.records
