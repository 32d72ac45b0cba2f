"""Zones and regions: labels and node affinity in a driver's terms, and back."""

import pytest

from mooring.model.csi_translation import topology
from mooring.model.csi_translation.contract import TranslationError
from mooring.model.csi_translation.gce_pd import region_of
from tests.unit.model.csi_translation.objects import (
    BETA_REGION,
    BETA_ZONE,
    REGION,
    ZONE,
    Doc,
    a_volume,
    terms_of,
)

KEY = "driver/zone"
TO_CSI: dict[str, tuple[Doc, list[Doc] | None, list[Doc]]] = {
    "nothing is said": ({}, None, []),
    "zone of the affinity": ({}, [{ZONE: ["a"]}], [{KEY: ["a"]}]),
    "beta zone of the affinity": ({}, [{BETA_ZONE: ["a"]}], [{KEY: ["a"]}]),
    "affinity wins over labels": ({ZONE: "x"}, [{ZONE: ["a"]}], [{KEY: ["a"]}]),
    "zones of the label, sorted, each once": ({ZONE: "b__ a__b__"}, None, [{KEY: ["a", "b"]}]),
    "zones of the beta label": ({BETA_ZONE: "b"}, None, [{KEY: ["b"]}]),
    "today's label before the beta one": ({ZONE: "a", BETA_ZONE: "b"}, None, [{KEY: ["a"]}]),
    "the label is added to every term": (
        {ZONE: "a"},
        [{"x": ["1"]}, {"y": ["2"]}],
        [{"x": ["1"], KEY: ["a"]}, {"y": ["2"], KEY: ["a"]}],
    ),
    "beta region with beta zone": (
        {},
        [{BETA_ZONE: ["a"], BETA_REGION: ["r"]}],
        [{KEY: ["a"], REGION: ["r"]}],
    ),
    "today's region stays": ({}, [{ZONE: ["a"], REGION: ["r"]}], [{KEY: ["a"], REGION: ["r"]}]),
}


@pytest.mark.parametrize(("labels", "terms", "then"), TO_CSI.values(), ids=TO_CSI)
def test_to_csi(labels: Doc, terms: list[Doc] | None, then: list[Doc]) -> None:
    given = a_volume(labels, terms=terms)
    assert terms_of(topology.to_csi(given, KEY)) == then
    assert given == a_volume(labels, terms=terms)


TO_IN_TREE: dict[str, tuple[Doc, list[Doc] | None, list[Doc], Doc]] = {
    "nothing is said": ({}, None, [], {}),
    "zone and region": (
        {},
        [{KEY: ["us-east1-c", "us-east1-b"]}],
        [{ZONE: ["us-east1-c", "us-east1-b"], REGION: ["us-east1"]}],
        {ZONE: "us-east1-b__us-east1-c", REGION: "us-east1"},
    ),
    "a region that is there": (
        {},
        [{KEY: ["z"], REGION: ["r"]}],
        [{ZONE: ["z"], REGION: ["r"]}],
        {ZONE: "z", REGION: "r"},
    ),
    "labels that are there": (
        {ZONE: "mine", REGION: "my"},
        [{KEY: ["us-east1-b"]}],
        [{ZONE: ["us-east1-b"], REGION: ["us-east1"]}],
        {ZONE: "mine", REGION: "my"},
    ),
    "two regions: none in the labels": (
        {},
        [{KEY: ["us-east1-b"]}, {KEY: ["us-west1-b"]}],
        [
            {ZONE: ["us-east1-b"], REGION: ["us-east1"]},
            {ZONE: ["us-west1-b"], REGION: ["us-west1"]},
        ],
        {ZONE: "us-east1-b__us-west1-b"},
    ),
}


@pytest.mark.parametrize(("labels", "terms", "then", "told"), TO_IN_TREE.values(), ids=TO_IN_TREE)
def test_to_in_tree(labels: Doc, terms: list[Doc] | None, then: list[Doc], told: Doc) -> None:
    translated = topology.to_in_tree(a_volume(labels, terms=terms), KEY, region_of)
    assert terms_of(translated) == then
    assert translated.metadata.labels == told


@pytest.mark.parametrize("zones", [["us-east1-b", "us-west1-b"], ["nowhere"], []])
def test_zones_without_one_region_are_an_error(zones: list[str]) -> None:
    given = a_volume(terms=[{KEY: zones}])
    with pytest.raises(TranslationError, match="Failed to handle region topology"):
        topology.to_in_tree(given, KEY, region_of)
