"""What a driver's answer to CreateVolume means for the claim."""

from typing import assert_never

import msgspec

from mooring.csi.outcome import Code, Done, Outcome, Refused, Uncertain
from mooring.csi.volume import Volume as Made
from mooring.sidecars.provisioner.draft import Draft
from mooring.sidecars.provisioner.volume_document import size_of, wanted_bytes

INFEASIBLE = "Volume provisioning failed with infeasible error. Retries will be delayed. "


class Good(msgspec.Struct, frozen=True):
    """As asked for: tell of it."""

    made: Made


class Unfit(msgspec.Struct, frozen=True):
    """A volume, but not the one that was asked for: it has to go, and may come back better."""

    made: Made
    why: str


class Never(msgspec.Struct, frozen=True):
    """Certainly not so: nothing exists, and trying again soon makes no sense."""

    why: str


class NotNow(msgspec.Struct, frozen=True):
    """Certainly not this time: nothing exists."""

    why: str


class Elsewhere(msgspec.Struct, frozen=True):
    """Nothing exists, and another node may do."""

    why: str


class Maybe(msgspec.Struct, frozen=True):
    """A volume may exist, or may come to exist: ask again with the same words."""

    why: str


Reply = Good | Unfit | Never | NotNow | Elsewhere | Maybe


def judge_reply(draft: Draft, outcome: Outcome[Made], *, may_reschedule: bool) -> Reply:
    match outcome:
        case Done(made):
            return _judge_made(draft, made)
        case Uncertain():
            return Maybe(outcome.text)
        case Refused(Code.ALREADY_EXISTS):
            # The name is the claim's alone: an earlier try of ours made it, in other words.
            return Maybe(outcome.text)
        case Refused(Code.INVALID_ARGUMENT):
            return Never(INFEASIBLE + outcome.text)
        case Refused(Code.RESOURCE_EXHAUSTED) if may_reschedule:
            return Elsewhere(outcome.text)
        case Refused():
            return NotNow(outcome.text)
        case other:
            assert_never(other)


def _judge_made(draft: Draft, made: Made) -> Good | Unfit:
    has, wants = size_of(draft, made), wanted_bytes(draft)
    if has < wants:
        return Unfit(made, f"created volume capacity {has} less than requested capacity {wants}")
    if draft.request.source is not None and made.source is None:
        return Unfit(made, "volume content source missing")
    return Good(made)
