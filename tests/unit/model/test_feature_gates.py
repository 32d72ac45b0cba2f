"""Feature gates on the command line."""

import pytest

from mooring.errors import UsageError
from mooring.model.feature_gates import CROSS_NAMESPACE, FeatureGates, parse_gates

GOOD = {
    "": False,
    f"{CROSS_NAMESPACE}=true": True,
    f"{CROSS_NAMESPACE}=1": True,
    f"{CROSS_NAMESPACE}=false": False,
    f"{CROSS_NAMESPACE}=true,{CROSS_NAMESPACE}=false": False,
}


@pytest.mark.parametrize(("text", "is_on"), GOOD.items())
def test_a_gate_is_on_if_it_is_said_to_be(text: str, is_on: bool) -> None:  # noqa: FBT001
    assert parse_gates(text) == FeatureGates(is_on)


BAD = {
    "CrossNamespaceVolumeDataSources=true": "did you mean CrossNamespaceVolumeDataSource?",
    "Frobnicate=true": "there is CrossNamespaceVolumeDataSource",
    CROSS_NAMESPACE: "must be CrossNamespaceVolumeDataSource=true or",
    f"{CROSS_NAMESPACE}=perhaps": "must be CrossNamespaceVolumeDataSource=true or",
}


@pytest.mark.parametrize(("text", "why"), BAD.items())
def test_what_is_no_gate_is_refused_with_what_there_is(text: str, why: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_gates(text)
    assert why in str(refused.value)
