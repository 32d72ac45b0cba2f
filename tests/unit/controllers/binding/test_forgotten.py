"""A volume that has forgotten the claim bound to it is not free for others."""

import random
from typing import Any

import pytest

from mooring.client.contract import EVERYTHING
from mooring.controllers.binding.caches import Caches, Informers
from mooring.controllers.binding.decide.claim import decide_claim
from mooring.controllers.binding.plan import SaveVolume
from mooring.controllers.binding.view import Plugins, Provisioning
from mooring.model.claim import Claim
from mooring.model.csi_driver import CsiDriver
from mooring.model.csi_node import CsiNode
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.steps import Emit
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume
from mooring.reconcile.apply import NotNow
from mooring.reconcile.reflector import Reflector
from tests.fakes.client import FakeClient
from tests.fakes.clock import VirtualClock
from tests.fakes.fake_server import FakeServer
from tests.unit.controllers.binding.things import DONE, a_claim, a_volume

HOLDER = a_claim(name="holder", uid="h", volume="pv", annotations=DONE)
FORGETFUL = a_volume("pv")


def caches(*claims: Claim) -> Caches:
    clock, rng = VirtualClock(), random.Random(7)  # noqa: S311  nothing secret
    client = FakeClient(FakeServer(clock), clock)

    def informer(kind: Any) -> Any:
        return Reflector(client, kind, EVERYTHING, clock, rng)

    informers = Informers(
        *map(informer, (Volume, Claim, StorageClass, Pod, Node, CsiDriver, CsiNode))
    )
    made = Caches(informers, Plugins(), Provisioning.ON)
    informers.volumes.fold(FORGETFUL)
    made.index.put(FORGETFUL)
    for claim in claims:
        informers.claims.fold(claim)
    return made


def test_who_asks_for_it_by_name_is_told_that_it_is_taken() -> None:
    rival = a_claim(name="rival", volume="pv")
    decided = decide_claim(caches(HOLDER, rival).view_claim(rival))
    assert not [step for step in decided.steps if isinstance(step, SaveVolume)]
    assert [step.message for step in decided.steps if isinstance(step, Emit)] == [
        'volume "pv" already bound to a different claim.'
    ]


def test_who_asks_for_any_has_to_wait_until_it_is_bound_again() -> None:
    rival = a_claim(name="rival")
    with pytest.raises(NotNow, match="is to be bound to"):
        caches(HOLDER, rival).view_claim(rival)


def test_its_own_claim_gets_it_back() -> None:
    decided = decide_claim(caches(HOLDER).view_claim(HOLDER))
    assert [step for step in decided.steps if isinstance(step, SaveVolume)]


def test_without_such_a_claim_it_is_free() -> None:
    rival = a_claim(name="rival", volume="pv")
    decided = decide_claim(caches(rival).view_claim(rival))
    assert [step for step in decided.steps if isinstance(step, SaveVolume)]
