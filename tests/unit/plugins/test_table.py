"""docs/plugins.md: every source has a row, every row is true."""

from pathlib import Path

import msgspec
import pytest

from mooring.model.pod_volume import PodVolume
from mooring.model.volume_source import PersistentSources
from mooring.plugins.facts import FACTS, Fact, HowTested
from mooring.plugins.registry import Registry
from mooring.plugins.table import find_plugin, is_served, render, rows
from tests.fakes.mounts import FakeMounts
from tests.unit.plugins.every_plugin import every_plugin
from tests.unit.plugins.plugins_doc import FILE, registry_of
from tests.unit.plugins.world import a_host

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Registry:
    return registry_of(a_host(tmp_path_factory.mktemp("node"), FakeMounts()))


def test_the_page_is_what_the_registry_says(registry: Registry) -> None:
    assert FILE.read_text() == render(registry), "run `make plugins-doc`"


def test_every_source_of_the_api_has_one_row() -> None:
    fields = {
        field.encode_name
        for kind in (PodVolume, PersistentSources)
        for field in msgspec.structs.fields(kind)
    }
    named = [fact.source for fact in FACTS]
    assert sorted(named) == sorted(fields - {"name"})


def test_every_plugin_is_in_a_row() -> None:
    assert every_plugin() <= {fact.plugin for fact in FACTS}, "name it in plugins/facts.py"


def test_no_cell_is_empty(registry: Registry) -> None:
    for row in rows(registry):
        assert all(row), row


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: str(fact.source))
def test_what_is_served_is_tested_by_what_is_there(fact: Fact, registry: Registry) -> None:
    if is_served(fact, find_plugin(registry, fact)):
        assert fact.tested is not HowTested.API, "say in plugins/facts.py how it is tested"
        assert (ROOT / fact.tests).exists(), fact.tests
    else:
        assert fact.instead
