"""Reading typed objects: what is tolerated, what is refused, what never changes."""

import msgspec
import pytest

from mooring.model.claim import Claim
from mooring.model.meta import ObjectMeta, OwnerReference, Resource
from mooring.model.wire import read_document


def test_objects_cannot_be_changed() -> None:
    claim = read_document({"metadata": {"name": "data"}}, Claim)
    with pytest.raises(AttributeError):
        claim.metadata = ObjectMeta()  # type: ignore[misc]  # the point of the test


def test_a_refusal_names_the_path() -> None:
    with pytest.raises(msgspec.ValidationError, match=r"\$\.spec\.volumeName"):
        read_document({"spec": {"volumeName": 7}}, Claim)


def test_nulls_of_other_servers_are_no_times() -> None:
    assert read_document({"creationTimestamp": None}, ObjectMeta).creation_timestamp is None


def test_names_are_camel_case_on_the_wire_and_defaults_stay_home() -> None:
    meta = ObjectMeta(name="a", generate_name="a-")
    assert msgspec.to_builtins(meta) == {"name": "a", "generateName": "a-"}


def test_the_controller_is_the_one_owner_that_says_so() -> None:
    owner = OwnerReference("v1", "Pod", "web", "u1")
    controller = OwnerReference("v1", "Pod", "web", "u2", controller=True)
    assert ObjectMeta(owner_references=(owner, controller)).find_controller() is controller
    assert ObjectMeta(owner_references=(owner,)).find_controller() is None


def test_api_version_of_the_core_group_is_bare() -> None:
    assert Resource("", "v1", "Pod", "pods", namespaced=True).api_version == "v1"
    assert Claim.resource.api_version == "v1"
    assert Resource("a.b", "v1", "C", "cs", namespaced=True).api_version == "a.b/v1"
