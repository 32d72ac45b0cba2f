"""When `mooring up` is ready, and the block that it then says."""

import asyncio
import shlex
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final

import msgspec

from mooring.apiserver.api.health import Health
from mooring.clock import Clock
from mooring.model.storage_class import StorageClass
from mooring.reconcile.role import Role, Settling, Troubled

STARTUP: Final = "startup"
TROUBLE_SECONDS = 1.0  # then it is said what is waited for, if there is trouble
PATIENCE_SECONDS = 10.0  # then in any case

Say = Callable[[str], None]


class Block(msgspec.Struct, frozen=True):
    """What a user is told of a `mooring up`."""

    url: str
    kubeconfig: str
    node: str = ""  # empty: none, as was asked for
    default_class: StorageClass | None = None
    limits: tuple[str, ...] = ()  # what will not work here, each with its reason and remedy
    warning: str = ""


def ready_line(url: str, kubeconfig: str) -> str:
    return f"mooring is ready at {url} (kubectl --kubeconfig {shlex.quote(kubeconfig)})"


def warning_line(warning: str) -> str:
    return f"  warning: {warning}"


def ready_block(block: Block) -> str:
    """Its first line is what scripts wait for."""
    if block.default_class is None:
        default = "none: a claim has to name one"
    else:
        default = f"{block.default_class.name} ({block.default_class.provisioner})"
    lines = [
        ready_line(block.url, block.kubeconfig),
        f"  node: {block.node or 'none (--no-node)'}",
        f"  default class: {default}",
        *(f"  will not work: {limit}" for limit in block.limits),
        *([warning_line(block.warning)] if block.warning else []),
    ]
    return "\n".join(lines)


def not_ready_line(url: str, kubeconfig: str, waiting: Iterable[str], trouble: str | None) -> str:
    """For a server that answers while other roles keep the user waiting."""
    why = f"waiting for {', '.join(waiting)}" + (f" ({trouble})" if trouble else "")
    how = f"kubectl --kubeconfig {shlex.quote(kubeconfig)}"
    return f"mooring answers at {url} ({how}) but is not ready: {why}"


class Readiness:
    """The roles of this process, in the server's health check from its first answer on."""

    def __init__(self, health: Health, clock: Clock) -> None:
        self._health = health
        self._clock = clock
        self._ready: dict[str, bool] = {STARTUP: False}
        self._add(STARTUP, str)

    def expect(self, roles: Iterable[Role]) -> None:
        for role in roles:
            self._ready[role.name] = False
            self._add(role.name, role.troubles if isinstance(role, Troubled) else str)

    def waiting_for(self) -> list[str]:
        return [name for name, is_ready in self._ready.items() if not is_ready and name != STARTUP]

    async def tell(
        self,
        roles: Sequence[Role],
        has_trouble: Callable[[], bool],
        say_waiting: Callable[[], None],
        say_ready: Callable[[], Awaitable[None]],
    ) -> None:
        """While `roles` run: `say_waiting` once if that takes long, then `say_ready` once."""
        async with asyncio.TaskGroup() as tasks:
            following = [tasks.create_task(self._follow(role)) for role in roles]
            patience = tasks.create_task(self._lose_patience(has_trouble, say_waiting))
            await asyncio.wait(following)
            patience.cancel()
        self._ready[STARTUP] = True
        await say_ready()

    async def _follow(self, role: Role) -> None:
        await role.synced()
        if isinstance(role, Settling):
            await role.ready()
        self._ready[role.name] = True

    async def _lose_patience(
        self, has_trouble: Callable[[], bool], say_waiting: Callable[[], None]
    ) -> None:
        await self._clock.sleep(TROUBLE_SECONDS)
        if not has_trouble():
            await self._clock.sleep(PATIENCE_SECONDS - TROUBLE_SECONDS)
        say_waiting()

    def _add(self, name: str, told: Callable[[], str]) -> None:
        self._health.add_role(name, told, lambda: self._ready[name])
