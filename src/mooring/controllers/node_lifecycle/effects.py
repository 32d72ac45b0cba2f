"""Carrying out what was decided: conditions and taints of a node, conditions of its pods."""

from contextlib import suppress
from math import inf
from typing import Any, assert_never

import msgspec

from mooring import log
from mooring.client.contract import Client, Part
from mooring.controllers.node_lifecycle.plan import LookAgain, MarkPodNotReady, Plan, UpdateNode
from mooring.controllers.node_lifecycle.view import LEASE_NAMESPACE
from mooring.errors import NotFound
from mooring.model.keys import Key
from mooring.model.lease import Lease
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.steps import Emit
from mooring.reconcile.apply import apply
from mooring.reconcile.informer import Informer
from mooring.reconcile.recorder import Recorder

_log = log.get("mooring.node_lifecycle")


class Effects:
    def __init__(
        self, client: Client, recorder: Recorder, nodes: Informer[Node], pods: Informer[Pod]
    ) -> None:
        self._client = client
        self._recorder = recorder
        self._nodes = nodes
        self._pods = pods

    async def read_lease(self, node: str) -> Lease | None:
        """The newest one; None: it has none. Raises: ApiError, ConnectionLost."""
        with suppress(NotFound):
            return await self._client.get(Lease, Key(LEASE_NAMESPACE, node))
        return None

    async def perform(self, plan: Plan) -> float:
        """In order, up to the first step that fails. Seconds until it is to be looked at again.

        Raises: what the API said; try again later.
        """
        again = inf
        for step in plan.steps:
            match step:
                case UpdateNode():
                    await self._update(step, plan.because)
                case MarkPodNotReady(pod, conditions):
                    change = {"status": {"conditions": msgspec.to_builtins(conditions)}}
                    with suppress(NotFound):
                        self._pods.fold(await self._client.patch(pod, change, Part.STATUS))
                case Emit():
                    apply(step, self._recorder)
                case LookAgain(seconds):
                    again = min(again, seconds)
                case other:
                    assert_never(other)
        return again

    async def _update(self, step: UpdateNode, because: str) -> None:
        spec: dict[str, Any] = {}
        status: dict[str, Any] = {}
        if step.taints is not None:
            spec = {"spec": {"taints": msgspec.to_builtins(step.taints)}}
        if step.conditions is not None:
            status = {"conditions": msgspec.to_builtins(step.conditions)}
            _log.warning("node is lost", node=step.seen.name, because=because)
        with suppress(NotFound):  # the watch will say so
            self._nodes.fold(await self._client.patch_both(step.seen, spec, status))
