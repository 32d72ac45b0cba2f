"""The steps that a plan of the data-source validator may hold: events, and no writes."""

from enum import StrEnum
from typing import TypeAlias

import msgspec

from mooring.model import steps
from mooring.model.steps import Emit

UNRECOGNIZED = "UnrecognizedDataSourceKind"


class Result(StrEnum):
    """How a claim is counted."""

    EMPTY = "empty"
    CLAIM = "pvc"
    SNAPSHOT = "snapshot"
    POPULATOR = "populator"
    INVALID = "invalid"


class Count(msgspec.Struct, frozen=True):
    result: Result


Step = Emit | Count
Plan: TypeAlias = steps.Plan[Step]
