"""Which health is told, and when it goes."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.apiserver.kinds.volume_health import validate_health
from mooring.csi.capability import ControllerCapability, PluginService
from mooring.csi.volume import Condition
from mooring.model.claim import Claim, ClaimHealth, ClaimStatus
from mooring.model.health import HealthCondition, acceptable
from mooring.model.meta import ObjectMeta
from mooring.model.steps import Emit
from mooring.sidecars.driver import Abilities
from mooring.sidecars.health.decide import decide_condition, decide_health
from mooring.sidecars.health.plan import WriteHealth
from mooring.sidecars.health.run import Mode, mode_of
from mooring.sidecars.health.view import (
    Before,
    ConditionView,
    HealthView,
    NotListed,
    Reported,
)

SLOW = HealthCondition(status="Degraded", reason="Slow", message="one path")
WELL = Condition(abnormal=False, message="")
ILL = Condition(abnormal=True, message="a disk is gone")
LOST = HealthCondition(status="DataLoss", reason="Gone")


def a_claim(*conditions: HealthCondition) -> Claim:
    health = ClaimHealth(health_conditions=conditions) if conditions else None
    return Claim(metadata=ObjectMeta(name="c"), status=ClaimStatus(health_status=health))


HEALTH: dict[str, tuple[Claim, Reported | NotListed, list[str]]] = {
    "a healthy volume stays so": (a_claim(), Reported(), []),
    "a volume that no list shows was never ill": (a_claim(), NotListed(1), []),
    "trouble is written, and told once": (
        a_claim(),
        Reported((SLOW,)),
        ["write Slow", "Warning VolumeConditionAbnormal Degraded: Slow: one path"],
    ),
    "the same trouble is not written again": (a_claim(SLOW), Reported((SLOW,)), []),
    "another message alone writes nothing": (
        a_claim(SLOW),
        Reported((msgspec.structs.replace(SLOW, message="two paths"),)),
        [],
    ),
    "further trouble replaces the list, and only it is told": (
        a_claim(SLOW),
        Reported((SLOW, LOST)),
        ["write Gone,Slow", "Warning VolumeConditionAbnormal Gone"],
    ),
    "one gap in a list clears nothing": (a_claim(SLOW), NotListed(1), []),
    "two gaps clear": (
        a_claim(SLOW),
        NotListed(2),
        ["write ", "Normal VolumeConditionNormal The Volume returns to the healthy state"],
    ),
    "a driver that says so clears at once": (
        a_claim(SLOW),
        Reported(),
        ["write ", "Normal VolumeConditionNormal The Volume returns to the healthy state"],
    ),
}


def told(step: Emit | WriteHealth) -> str:
    match step:
        case Emit(_, kind, reason, message):
            return f"{kind} {reason} {message}"
        case WriteHealth(_, conditions):
            return f"write {','.join(each.reason for each in conditions)}"


@pytest.mark.parametrize(("claim", "report", "then"), HEALTH.values(), ids=HEALTH)
def test_health(claim: Claim, report: Reported | NotListed, then: list[str]) -> None:
    assert [told(step) for step in decide_health(HealthView(claim, report)).steps] == then


CONDITIONS: dict[str, tuple[Condition, Before, list[str]]] = {
    "well and well": (WELL, Before.FINE, []),
    "abnormal": (ILL, Before.FINE, ["Warning VolumeConditionAbnormal a disk is gone"]),
    "abnormal still, told each round": (
        ILL,
        Before.ABNORMAL,
        ["Warning VolumeConditionAbnormal a disk is gone"],
    ),
    "recovered": (
        WELL,
        Before.ABNORMAL,
        ["Normal VolumeConditionNormal The Volume returns to the healthy state"],
    ),
}


@pytest.mark.parametrize(("said", "before", "then"), CONDITIONS.values(), ids=CONDITIONS)
def test_conditions_of_older_drivers(said: Condition, before: Before, then: list[str]) -> None:
    view = ConditionView(a_claim(), said.abnormal, said.message, before)
    assert [told(step) for step in decide_condition(view).steps] == then


WILD = st.builds(
    HealthCondition,
    status=st.sampled_from(["Degraded", "DataLoss", "Inaccessible"]),
    reason=st.text(alphabet="Aa ,:_é", max_size=300),
    message=st.text(max_size=1200),
)


@given(conditions=st.lists(WILD, max_size=30), stored=st.lists(WILD, max_size=3))
def test_what_is_written_is_accepted_and_then_settled(
    conditions: list[HealthCondition], stored: list[HealthCondition]
) -> None:
    claim = a_claim(*acceptable(stored))
    for step in decide_health(HealthView(claim, Reported(tuple(conditions)))).steps:
        if isinstance(step, WriteHealth):
            health = {"healthConditions": [msgspec.to_builtins(each) for each in step.conditions]}
            assert list(validate_health(health, "status.healthStatus")) == []
            claim = a_claim(*step.conditions)
    assert decide_health(HealthView(claim, Reported(tuple(conditions)))).steps == ()


C = ControllerCapability
MODES = {
    "a list of 1.13": ({C.LIST_VOLUME_HEALTH, C.GET_VOLUME_HEALTH}, Mode.LIST_HEALTH),
    "only single questions of 1.13": ({C.GET_VOLUME_HEALTH}, Mode.GET_HEALTH),
    "both, of both versions": (
        {C.GET_VOLUME_HEALTH, C.VOLUME_CONDITION, C.LIST_VOLUMES},
        Mode.GET_HEALTH,
    ),
    "a list of 1.12": ({C.VOLUME_CONDITION, C.LIST_VOLUMES, C.GET_VOLUME}, Mode.LIST_CONDITIONS),
    "only single questions of 1.12": ({C.VOLUME_CONDITION, C.GET_VOLUME}, Mode.GET_CONDITION),
    "a condition that cannot be asked for": ({C.VOLUME_CONDITION}, Mode.NOT_AT_ALL),
    "none of it": ({C.LIST_VOLUMES}, Mode.NOT_AT_ALL),
}


@pytest.mark.parametrize(("able", "mode"), MODES.values(), ids=MODES)
def test_how_a_driver_is_asked(able: set[ControllerCapability], mode: Mode) -> None:
    services = frozenset({PluginService.CONTROLLER_SERVICE})
    assert mode_of(Abilities(services, frozenset(able))) is mode
