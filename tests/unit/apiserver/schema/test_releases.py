"""Messages as older releases had them."""

import pytest

from mooring.apiserver.schema.contract import Schema
from mooring.apiserver.schema.json_fields import json_fields
from mooring.apiserver.schema.parse import load, parse
from mooring.apiserver.schema.releases import name_at, newest_name

TEXT = """
package core.v1
message Outer
  inner 1 Inner[] key=name
  other 2 Other
message Inner
  name  1 string required
  newer 2 string since=1.37
message Other
  gone  1 string until=1.35
  kept  2 string
message Same
  name 1 string
  self 2 Same pointer
"""


@pytest.fixture
def schema() -> Schema:
    return parse([("test.schema", TEXT)])


def test_a_field_that_came_later_is_missing(schema: Schema) -> None:
    assert list(schema.message("core.v1@35.Inner").fields) == ["name"]
    assert list(schema.message("core.v1.Inner").fields) == ["name", "newer"]


def test_a_field_that_has_gone_is_there(schema: Schema) -> None:
    assert list(schema.message("core.v1@35.Other").fields) == ["gone", "kept"]
    assert list(schema.message("core.v1.Other").fields) == ["kept"]


def test_what_refers_to_a_message_that_differs_refers_to_the_older_one(schema: Schema) -> None:
    outer = schema.message("core.v1@35.Outer")
    assert [field.type for field in outer.fields.values()] == [
        "core.v1@35.Inner",
        "core.v1@35.Other",
    ]
    assert outer.fields["inner"].keys == ("name",)


def test_what_is_the_same_is_there_once(schema: Schema) -> None:
    assert schema.find("core.v1@35.Same") is None
    with pytest.raises(KeyError):
        schema.message("core.v1@35.Same")


@pytest.mark.parametrize("name", ["core.v1.Pod", "storage.v1.CSIDriverSpec", "meta.v1.Status"])
def test_the_mark_comes_off_again(name: str) -> None:
    assert newest_name(name_at(name, 35)) == name
    assert newest_name(name) == name


def test_templates_of_pods_are_older_with_the_pods() -> None:
    found = load().older
    assert {"core.v1@35.Pod", "apps.v1@35.StatefulSet", "batch.v1@35.CronJob"} <= found.keys()
    volumes = json_fields("core.v1@35.PodSpec")["volumes"]
    assert volumes.type == "core.v1@35.Volume"
