"""What a driver's answer to CreateVolume means for the claim.

Always true of a reply:
- That nothing exists (`Never`, `NotNow`, `Elsewhere`) follows from a refusal alone. An unclear
  answer, and ALREADY_EXISTS, is `Maybe`.
- After an unclear answer, only a refusal of the request itself, or lack of capacity, ends the
  doubt; while settling, only a refusal of the very request that was sent first.
- `Good` is at least as large as asked for, and filled from a source if one was asked for.
- `Elsewhere` only if the claim may be rescheduled.
"""

from typing import assert_never

import msgspec

from mooring.csi.outcome import Code, Done, Outcome, Refused, Uncertain
from mooring.csi.volume import Volume as Made
from mooring.sidecars.provisioner.draft import Draft
from mooring.sidecars.provisioner.volume_document import size_of, wanted_bytes

INFEASIBLE = "Volume provisioning failed with infeasible error. Retries will be delayed. "


class Good(msgspec.Struct, frozen=True):
    """As asked for: a PersistentVolume is to be created."""

    made: Made


class Unfit(msgspec.Struct, frozen=True):
    """A volume, but not as asked for: it is to be deleted, and another asked for."""

    made: Made
    why: str


class Never(msgspec.Struct, frozen=True):
    """Nothing exists, and the same request will be refused again: retries are delayed."""

    why: str


class NotNow(msgspec.Struct, frozen=True):
    """Nothing exists; a retry may succeed."""

    why: str


class Elsewhere(msgspec.Struct, frozen=True):
    """Nothing exists, and another node may do."""

    why: str


class Maybe(msgspec.Struct, frozen=True):
    """A volume may exist, or may come to exist: ask again with the same words."""

    why: str


Reply = Good | Unfit | Never | NotNow | Elsewhere | Maybe


_ABOUT_THE_WISH = frozenset((Code.INVALID_ARGUMENT, Code.OUT_OF_RANGE))
"""Refusals of the request itself. A driver that has made the volume does not refuse it so now."""

_CERTAIN_AFTER_DOUBT = _ABOUT_THE_WISH | {Code.RESOURCE_EXHAUSTED}
"""No room is said of a volume that is not there; as upstream, or no other node is ever tried."""


def judge_reply(
    draft: Draft, outcome: Outcome[Made], *, may_reschedule: bool, after_doubt: bool = False
) -> Reply:
    """`after_doubt`: an earlier call had no clear answer. Then a refusal is about this call alone:
    wrong secrets, or an internal error, do not prove that no volume was made."""
    match outcome:
        case Done(made):
            return _judge_made(draft, made)
        case Uncertain():
            return Maybe(outcome.text)
        case Refused(Code.ALREADY_EXISTS):
            # The name is the claim's alone: an earlier try of ours made it, in other words.
            return Maybe(outcome.text)
        case Refused(code) if after_doubt and code not in _CERTAIN_AFTER_DOUBT:
            return Maybe(outcome.text)
        case Refused(Code.INVALID_ARGUMENT):
            return Never(INFEASIBLE + outcome.text)
        case Refused(Code.RESOURCE_EXHAUSTED) if may_reschedule:
            return Elsewhere(outcome.text)
        case Refused():
            return NotNow(outcome.text)
        case other:
            assert_never(other)


def judge_settling(
    draft: Draft, outcome: Outcome[Made], *, is_as_before: bool
) -> Good | Unfit | Maybe | Never:
    """While settling: there is certainly no volume only if the very request that was sent first
    (`is_as_before`) is refused. A wrong "none" leaks a volume."""
    match outcome:
        case Done(made):
            return _judge_made(draft, made)
        case Refused(code) if is_as_before and code in _ABOUT_THE_WISH:
            return Never(outcome.text)
        case Refused() | Uncertain():
            return Maybe(outcome.text)
        case other:
            assert_never(other)


def _judge_made(draft: Draft, made: Made) -> Good | Unfit:
    has, wants = size_of(draft, made), wanted_bytes(draft)
    if has < wants:
        return Unfit(made, f"created volume capacity {has} less than requested capacity {wants}")
    if draft.request.source is not None and made.source is None:
        return Unfit(made, "volume content source missing")
    return Good(made)
