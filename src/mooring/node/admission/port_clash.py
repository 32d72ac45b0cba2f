"""Ports that several pods of one node mean to listen on: they share its network. Pure."""

from collections.abc import Iterable, Iterator
from typing import Final

from mooring.model.container import ContainerPort
from mooring.model.pod import Pod

CLASH: Final = "PortClash"  # the reason of the event
_MOST_TOLD = 3


def find_clashes(pod: Pod, others: Iterable[Pod]) -> Iterator[str]:
    """What to say of ports that another pod here declares too; only one of them can have each."""
    wanted = {(port.container_port, port.protocol) for port in _ports(pod)}
    if not wanted:
        return
    told = 0
    for other in others:
        if other.uid == pod.uid or other.is_finished or other.is_deleting:
            continue
        both = wanted & {(port.container_port, port.protocol) for port in _ports(other)}
        for number, protocol in sorted(both):
            if told == _MOST_TOLD:
                return
            told += 1
            yield (
                f"pod {other.key} declares port {number}/{protocol} too: pods share the network "
                "of their node, so only one of them can listen on it"
            )


def _ports(pod: Pod) -> Iterator[ContainerPort]:
    return (port for container in pod.spec.containers for port in container.ports)
