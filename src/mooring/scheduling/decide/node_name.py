"""A pod that names its node goes there or nowhere."""

from functools import partial

from mooring.model.pod import Pod
from mooring.scheduling.decide.contract import Change, Opinion, Refused, Rule, is_new_node
from mooring.scheduling.view import NodeView, Picture

OTHER_NODE = Refused(("node(s) didn't match the requested node name",))


def look_at(picture: Picture) -> Opinion:
    wanted = picture.pod.spec.node_name
    return partial(_check, wanted) if wanted else None


def _check(wanted: str, node: NodeView) -> Refused | None:
    return None if node.name == wanted else OTHER_NODE


def is_woken(_: Pod, change: Change) -> bool:
    return is_new_node(change)


RULE = Rule("NodeName", look_at, is_woken)
