"""Ports of the node that a pod asks for by `hostPort`: no two pods have the same."""

from collections.abc import Iterable

from mooring.model.container import ContainerPort
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.scheduling.decide.contract import Change, Opinion, Refused, Rule, is_new_node
from mooring.scheduling.view import NodeView, Picture

TAKEN = Refused(("node(s) didn't have free ports for the requested pod ports",), yields=True)
_ANY = frozenset(("", "0.0.0.0"))  # noqa: S104  compared, not bound


def host_ports(pod: Pod) -> tuple[ContainerPort, ...]:
    """Of its containers, and of init containers that go on beside them."""
    spec = pod.spec
    lasting = (one for one in spec.init_containers if one.restart_policy == "Always")
    return tuple(
        port for one in (*spec.containers, *lasting) for port in one.ports if port.host_port
    )


def clashing(wanted: Iterable[ContainerPort], taken: Iterable[ContainerPort]) -> bool:
    known = tuple(taken)
    return any(_is_same(one, other) for one in wanted for other in known)


def _is_same(one: ContainerPort, other: ContainerPort) -> bool:
    if (one.host_port, one.protocol) != (other.host_port, other.protocol):
        return False
    return one.host_ip == other.host_ip or one.host_ip in _ANY or other.host_ip in _ANY


def look_at(picture: Picture) -> Opinion:
    wanted = host_ports(picture.pod)
    if not wanted:
        return None

    def check(node: NodeView) -> Refused | None:
        taken = (port for pod in node.pods.values() for port in host_ports(pod))
        return TAKEN if clashing(wanted, taken) else None

    return check


def is_woken(pod: Pod, change: Change) -> bool:
    """A node came, or a pod went that had one of the ports."""
    before, after = change.before, change.after
    if isinstance(after, Node):
        return is_new_node(change)
    if not isinstance(before, Pod) or (isinstance(after, Pod) and not after.is_finished):
        return False
    return clashing(host_ports(pod), host_ports(before))


RULE = Rule("NodePorts", look_at, is_woken)
