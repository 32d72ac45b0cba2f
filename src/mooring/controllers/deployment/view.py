"""The view of one deployment: its replica sets, those it may adopt, their pods, the time."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from mooring.model.deployment import Deployment
from mooring.model.replica_set import ReplicaSet


class DeploymentView(msgspec.Struct, frozen=True):
    deployment: Deployment
    sets: tuple[ReplicaSet, ...]  # its own, and those without a controller
    unfinished: Mapping[str, int]  # pods that have not ended, by the uid of their replica set
    now: datetime
