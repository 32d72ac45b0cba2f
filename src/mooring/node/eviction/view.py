"""What a pod uses of the node's disk, as it was measured."""

from collections.abc import Mapping

import msgspec


class Used(msgspec.Struct, frozen=True):
    """In bytes. What could not be measured is left out."""

    volumes: Mapping[str, int] = {}  # by name; of all kinds
    containers: Mapping[str, int] = {}  # that run, by name: what each has written, and its logs
    hosts: int = 0  # the /etc/hosts of the pod
