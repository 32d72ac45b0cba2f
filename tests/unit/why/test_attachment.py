"""What is said of a volume's attachment to the node of its pod."""

from typing import Any

from mooring.why.answer import Link, State, Step
from mooring.why.explain import explain
from tests.unit.why.test_explain import WEB, pod, ready_node, said
from tests.unit.why.worlds import NOW, bound_claim, bound_volume, whole_world

NAME = "example.com/image/disk"


def of_flex(*attached: str, events: tuple[dict[str, Any], ...] = ()) -> Link:
    """Of a FlexVolume, on a node that lists these volumes."""
    node = ready_node()
    node["status"]["volumesAttached"] = [{"name": one, "devicePath": ""} for one in attached]
    disk = bound_volume(flexVolume={"driver": "example.com/image"})
    world = whole_world(bound_claim(), disk, node, pod(nodeName="n1"), *events)
    (found,) = (one for one in explain(world, WEB, NOW).links if one.step is Step.ATTACHMENT)
    return found


FAILED = said("Pod", "web", "FailedAttachVolume", 'failed for volume "disk" : no such image')


def test_a_flex_volume_is_attached_where_the_node_lists_it() -> None:
    found = of_flex(NAME, events=(FAILED,))
    assert (found.state, found.says) == (State.DONE, "volume disk on node n1 is attached")
    assert found.source.kind == "Node"


def test_of_one_that_no_node_lists_nothing_is_claimed() -> None:
    """Its driver may be one that attaches nothing: only the controllers know."""
    found = of_flex("example.com/image/other")
    assert (found.state, found.who) == (State.SKIPPED, "")


def test_of_one_that_could_not_be_attached_the_controller_is_quoted() -> None:
    found = of_flex(events=(FAILED,))
    assert found.state is State.BROKEN
    assert found.says.endswith('says: failed for volume "disk" : no such image')


def test_an_event_of_another_volume_tells_nothing_of_this_one() -> None:
    other = said("Pod", "web", "FailedAttachVolume", 'failed for volume "other" : no such image')
    assert of_flex(events=(other,)).state is State.SKIPPED
