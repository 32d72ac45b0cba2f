"""Hooks: what a pod wants done right after a container has started, and before it is stopped."""

from mooring.clock import Clock
from mooring.errors import MooringError
from mooring.model.container import Container, Handler
from mooring.model.pod import Pod
from mooring.node.pods.actions import Actions, Unclear
from mooring.node.pods.security import pod_id

HTTP_SECONDS = 600.0  # the only limit on the response to an HTTP hook


class HookFailed(MooringError):
    """With upstream's text; not used in events, since a program's output may hold secrets."""


class Hooks:
    def __init__(self, actions: Actions, clock: Clock) -> None:
        self._actions = actions
        self._clock = clock

    async def run(self, id: str, pod: Pod, container: Container, hook: Handler) -> None:
        """Returns once it has been done. Raises: HookFailed."""
        where = f'for Container "{container.name}" in Pod "{pod_id(pod)}" failed - error:'
        if hook.exec is not None:
            command = hook.exec.command
            what = f"Exec lifecycle hook ([{' '.join(command)}]) {where}"
            try:
                result = await self._actions.run_program(id, command, None)
            except MooringError as error:
                raise HookFailed(f'{what} {error}, message: ""') from error
            if not result.is_ok:
                text = f'{what} command failed, message: "{result.output}"'
                raise HookFailed(text)
        elif hook.http_get is not None:
            what = f"HTTP lifecycle hook ({hook.http_get.path}) {where}"
            try:
                result = await self._actions.get_page(
                    hook.http_get, container, HTTP_SECONDS, "lifecycle"
                )
            except Unclear as error:
                raise HookFailed(f"{what} {error}") from error
            if not result.is_answered:
                raise HookFailed(f"{what} {result.output}")
        elif hook.sleep is not None:
            await self._clock.sleep(hook.sleep.seconds)
        else:
            raise HookFailed("Cannot run handler: invalid handler")
