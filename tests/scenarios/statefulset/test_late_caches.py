"""What a controller decided on the word of a cache is not done when the set has changed since."""

from random import Random

import pytest

from mooring.apiserver.api.in_process import InProcessApi
from mooring.apiserver.auth.user import CONTROLLERS
from mooring.client.local import LocalClient
from mooring.controllers.owned_pods.ownership import reference_of
from mooring.controllers.statefulset.effects import Effects
from mooring.controllers.statefulset.informers import informers_of
from mooring.controllers.statefulset.plan import GrowClaim, SetClaimOwners, Step
from mooring.errors import Conflict
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.model.stateful_set import StatefulSet
from mooring.model.steps import plan
from mooring.reconcile.loops import Loops
from tests.fakes.api import ApiUnderTest
from tests.fakes.objects import STATEFUL_SETS
from tests.scenarios.statefulset.sets import Sets, a_set


@pytest.mark.parametrize("change", ["scaled", "deleted", "replaced"])
@pytest.mark.parametrize("kind", [SetClaimOwners, GrowClaim], ids=lambda kind: kind.__name__)
async def test_a_claim_is_left_alone_when_the_set_was(
    api: ApiUnderTest, change: str, kind: type[SetClaimOwners | GrowClaim]
) -> None:
    sets = Sets(api)
    async with sets.controlled():
        await sets.create(STATEFUL_SETS, a_set(1))
        await sets.play()
    client = LocalClient(InProcessApi(api.parts.backend, CONTROLLERS))
    loops = Loops("late", client, api.clock, Random(1))  # noqa: S311  not for secrets
    effects = Effects(client, loops.recorder("late"), informers_of(loops))
    set_ = await client.get(StatefulSet, Key("default", "web"))
    pod = await client.get(Pod, Key("default", "web-0"))
    claim = await client.get(Claim, Key("default", "data-web-0"))
    if change == "scaled":
        await sets.change(replicas=2)
    else:
        await sets.delete(STATEFUL_SETS, "web")
        if change == "replaced":
            await sets.create(STATEFUL_SETS, a_set(1))
    step: Step = (
        SetClaimOwners(set_, claim, (reference_of(pod),))
        if kind is SetClaimOwners
        else GrowClaim(set_, claim, "9Gi")
    )
    with pytest.raises(Conflict):
        await effects.perform(plan("late", step))
    assert await client.get(Claim, claim.key) == claim
