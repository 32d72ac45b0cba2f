"""Volumes that nodes reach by themselves (iscsi, fc, rbd): on a node's list they are attached.

Always true of a plan:

- An exclusive volume is on one node's list at most, and on none while another node has it, is being
  asked about it, or says that it uses it.
- A volume leaves a node's list first; what the node says after that decides. If it uses the volume,
  the volume is put back, unless it is taken by force.
- Nothing is put on the list of a node that attaches for itself.
"""

from msgspec.structs import replace

from mooring.controllers.attachment.actual import BLANK, Memory
from mooring.controllers.attachment.force_detach import Force, Held, decide_gate
from mooring.controllers.attachment.multi_attach import is_first, refuse
from mooring.controllers.attachment.plan import (
    SUCCEEDED,
    CountForced,
    Forget,
    LookAgain,
    Plan,
    Remember,
    Report,
    Steps,
    Withdraw,
)
from mooring.controllers.attachment.view import VolumeOnNodeView, VolumeView
from mooring.model.event import EventType
from mooring.model.steps import Emit, plan


def decide_in_tree(view: VolumeView) -> Plan:
    unwanted = [on_node for on_node in view.on_nodes if not on_node.pods]
    wanted = [on_node for on_node in view.on_nodes if on_node.pods]
    steps = [step for on_node in unwanted for step in _take_away(view, on_node)]
    if wanted and any(isinstance(step, Forget) for step in steps):
        steps.append(LookAgain(0.0))  # somebody may have waited for it
    steps += [step for on_node in wanted for step in _bring(view, on_node)]
    return plan(f"{len(wanted)} node(s) want it", *steps)


def _bring(view: VolumeView, on_node: VolumeOnNodeView) -> Steps:
    if on_node.is_reported:
        if on_node.memory != BLANK:
            yield Remember(on_node.where, BLANK)
        return
    if not on_node.is_managed or view.wanted is None:
        return
    others = (one for one in view.on_nodes if one is not on_node and _holds(one))
    holders = tuple(others) if view.wanted.is_exclusive else ()
    if holders:
        yield from refuse(view, on_node, holders)
        return
    if not is_first(view, on_node):
        return
    if not on_node.memory.is_withdrawn:
        words = f'AttachVolume.Attach succeeded for volume "{view.label}" '
        for pod in on_node.pods:
            yield Emit(pod, EventType.NORMAL, SUCCEEDED, words)
    if on_node.memory != BLANK:
        yield Remember(on_node.where, BLANK)
    yield Report(on_node.where)


def _take_away(view: VolumeView, on_node: VolumeOnNodeView) -> Steps:
    if not _holds(on_node):
        yield Forget(on_node.where)
        return
    since = on_node.memory.leaving_since
    memory = Memory(leaving_since=view.now if since is None else since)
    on_node = replace(on_node, memory=memory)
    match decide_gate(on_node, view.policy, view.now):
        case Held(_, until):
            if on_node.is_managed and not on_node.is_reported:
                yield Report(on_node.where)
            yield Remember(on_node.where, memory)
            if until is not None:
                yield LookAgain(until - view.now)
            return
        case _ if not on_node.is_read:
            yield Remember(on_node.where, replace(memory, is_withdrawn=True))
            yield Withdraw(on_node.where)
            return
        case Force() as force:
            yield CountForced(on_node.where, force)
        case _:
            pass
    yield Forget(on_node.where)


def _holds(on_node: VolumeOnNodeView) -> bool:
    """Whether the node has it, or may have it."""
    if on_node.is_reported or on_node.memory.is_withdrawn:
        return True
    return on_node.node is not None and on_node.where.volume in on_node.node.status.volumes_in_use
