"""The steps that a plan for a replication controller may hold."""

from typing import TypeAlias

import msgspec

from mooring.controllers.owned_pods.plan import PodStep
from mooring.model import steps
from mooring.model.replication_controller import (
    ReplicationController,
    ReplicationControllerStatus,
)


class SaveStatus(msgspec.Struct, frozen=True):
    seen: ReplicationController
    status: ReplicationControllerStatus


Step = SaveStatus | PodStep
Plan: TypeAlias = steps.Plan[Step]
