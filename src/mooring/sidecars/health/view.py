"""What a decision on the health of a volume looks at."""

from enum import Enum, auto

import msgspec

from mooring.model.claim import Claim
from mooring.model.health import HealthCondition


class Reported(msgspec.Struct, frozen=True):
    """What the driver said; nothing adverse: it is healthy."""

    conditions: tuple[HealthCondition, ...] = ()


class NotListed(msgspec.Struct, frozen=True):
    """It was not in this many complete lists in a row. A list may have gaps."""

    rounds: int


class Before(Enum):
    """What was told of a volume by events."""

    FINE = auto()
    ABNORMAL = auto()


class HealthView(msgspec.Struct, frozen=True):
    """Of a driver of CSI 1.13."""

    claim: Claim
    report: Reported | NotListed


class ConditionView(msgspec.Struct, frozen=True):
    """Of a driver up to 1.12."""

    claim: Claim
    is_abnormal: bool
    message: str
    before: Before
