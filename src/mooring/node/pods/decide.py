"""What a pod's containers need next. Pure: it reads a view, and nothing else.

Init containers come first, one after the other; those that keep running (sidecars) are passed once
they have started. Then all regular containers start at once. Whatever ends is started again as the
pod's policy says, later each time. When the pod ends, everything is killed, sidecars last. What is
always true of a plan:

- Nothing is started once the pod ends, is past its deadline, has an init container that failed for
  good, or only regular containers that have ended for good.
- Nothing is started that runs, and nothing touched that is being started or killed (`busy`).
- An attempt is never made twice: a start has the number behind the newest, or that of one that was
  made but never ran, which it replaces.
- A regular container is there only after each init container ended well, or is a sidecar that has
  started; from then on init containers that ended are history.
- An ephemeral container runs at most once.
- Nothing is started before its pause or its waiting reason has passed; `look_at` is when that is.
- What is killed runs; a sidecar waits for all that are none, and for the sidecars behind it.
- What is removed has ended, and is neither the newest of its name nor the one before it; or it
  never ran, and the pod ends.
- A pod is over only when nothing of it runs, waits to run, or is being started or killed.
"""

from collections.abc import Iterator
from enum import Enum

import msgspec

from mooring.model.container import Container
from mooring.node.pods.plan import Discard, Kill, Plan, Postpone, Start, Step
from mooring.node.pods.restarts import find_wait, next_pause, shall_restart, shall_retry
from mooring.node.pods.view import Failed, View
from mooring.oci.contract import Found, State

CRASH_LOOP = "CrashLoopBackOff"
DEFAULT_GRACE_SECONDS = 30
KEPT = 2  # of each name: the newest, and the one before it


def decide(view: View) -> Plan:
    """Choose what to start, kill and remove now; safe to repeat after any part of it was done."""
    if view.is_ending:
        return _end(view, "the pod ends")
    if view.is_overdue:
        return _end(view, "its deadline has passed")
    init = _initialize(view)
    if init.stage is _Stage.FAILED:
        return _end(view, init.because)
    regular = _Part()
    if init.stage is _Stage.DONE:
        regular = _regular(view)
        if regular.stage is _Stage.DONE:
            return _end(view, "all its containers have ended")
    joining = _ephemeral(view)
    steps = (*_outdated(view), *init.steps, *regular.steps, *joining.steps)
    every = (init.look_at, regular.look_at, joining.look_at, view.deadline)
    looks = [one for one in every if one is not None]
    because = init.because if init.stage is _Stage.PENDING else regular.because
    return Plan(because, steps, min(looks, default=None))


class _Stage(Enum):
    PENDING = "pending"
    DONE = "done"
    FAILED = "failed"


class _Part(msgspec.Struct, frozen=True):
    """What one group of containers needs, and how far it is."""

    because: str = ""
    stage: _Stage = _Stage.PENDING
    steps: tuple[Step, ...] = ()
    look_at: float | None = None


class _Collected:
    """Steps of a part while it is looked through."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.looks: list[float] = []

    def start(self, view: View, container: Container) -> None:
        """Start it, unless it has to wait."""
        step, look_at = _start(view, container)
        if step is not None:
            self.steps.append(step)
        if look_at is not None:
            self.looks.append(look_at)

    def part(self, because: str, stage: _Stage) -> _Part:
        return _Part(because, stage, tuple(self.steps), min(self.looks, default=None))


# init containers


def _initialize(view: View) -> _Part:
    spec = view.pod.spec
    is_past = view.has_initialized
    collected = _Collected()
    for index, container in enumerate(spec.init_containers):
        name, newest = container.name, view.newest(container.name)
        is_passed = is_past or any(
            view.newest(later.name) is not None for later in spec.init_containers[index + 1 :]
        )
        if container.is_sidecar:
            if not _keep_up(view, container, collected) and not is_passed:
                return collected.part(f"{name} has not started", _Stage.PENDING)
            continue
        if is_passed:
            continue
        if newest is not None and newest.state is State.EXITED:
            if newest.exit_code == 0:
                continue
            if not shall_retry(view.pod, container, newest.exit_code):
                return collected.part(f"init container {name} failed", _Stage.FAILED)
        if name not in view.busy and not _is_running(newest):
            collected.start(view, container)
        return collected.part(f"{name} has not ended", _Stage.PENDING)
    return collected.part("", _Stage.DONE)


def _keep_up(view: View, container: Container, collected: _Collected) -> bool:
    """Keep a sidecar running; whether those after it may start."""
    newest = view.newest(container.name)
    if container.name in view.busy:
        return _is_running(newest) and newest is not None and view.health_of(newest).has_started
    if newest is None or not _is_running(newest):
        collected.start(view, container)
        return False
    kill = _find_unhealthy(view, newest, container, "Init container")
    if kill is not None:
        collected.steps.append(kill)
    return view.health_of(newest).has_started


# regular containers


def _regular(view: View) -> _Part:
    collected = _Collected()
    ended = 0
    for container in view.pod.spec.containers:
        newest = view.newest(container.name)
        if container.name in view.busy:
            continue
        if newest is not None and newest.state is State.RUNNING:
            kill = _find_unhealthy(view, newest, container, "Container")
            if kill is not None:
                collected.steps.append(kill)
        elif (
            newest is not None
            and newest.state is State.EXITED
            and not shall_restart(view.pod, container, newest.exit_code)
        ):
            ended += 1
        else:
            collected.start(view, container)
    is_done = ended == len(view.pod.spec.containers)
    return collected.part("the pod runs", _Stage.DONE if is_done else _Stage.PENDING)


def _ephemeral(view: View) -> _Part:
    """Containers that joined later; they are never started again."""
    collected = _Collected()
    for container in view.pod.spec.ephemeral_containers:
        newest = view.newest(container.name)
        is_new = newest is None or newest.state is State.CREATED
        if is_new and container.name not in view.busy:
            collected.start(view, container)
    return collected.part("", _Stage.PENDING)


# single containers


def _start(view: View, container: Container) -> tuple[Step | None, float | None]:
    """A container that does not run: the step it needs now, and when to look at it again."""
    name, newest = container.name, view.newest(container.name)
    waiting = view.waiting_reasons.get(name)
    if waiting is not None and waiting.reason != CRASH_LOOP and view.now < waiting.until:
        return None, waiting.until
    if newest is None:
        return Start(container, 0), None
    if newest.state is State.CREATED:
        return Start(container, newest.owner.attempt, (newest.id,), view.pauses.get(name)), None
    pause, ended_at = view.pauses.get(name), view.ended.get(newest.id, view.now)
    until = find_wait(pause, ended_at, view.now)
    if until is None or pause is None:
        attempt = newest.owner.attempt + 1
        return Start(container, attempt, (), next_pause(pause, ended_at, view.now)), None
    if waiting is not None and waiting.until == until:
        return None, until  # said already
    return Postpone(container, pause.seconds, until), until


def _find_unhealthy(view: View, found: Found, container: Container, what: str) -> Kill | None:
    failed = view.health_of(found).failed
    if failed is None:
        return None
    message = f"{what} {container.name} failed {failed.value} probe"
    is_regular = any(each.name == container.name for each in view.pod.spec.containers)
    if is_regular and shall_retry(view.pod, container):
        message += ", will be restarted"
    return Kill(found, container, _grace(view, container, failed), message)


def _is_running(found: Found | None) -> bool:
    return found is not None and found.state is State.RUNNING


def _grace(view: View, container: Container, failed: Failed | None = None) -> int:
    """The grace period: seconds between SIGTERM and SIGKILL."""
    if view.has_vanished:
        return 0
    pod = view.pod
    if pod.metadata.deletion_grace_period_seconds is not None:
        return pod.metadata.deletion_grace_period_seconds
    grace = pod.spec.termination_grace_period_seconds
    if grace is None:
        grace = DEFAULT_GRACE_SECONDS
    probe = None
    if failed is not None:
        is_liveness = failed is Failed.LIVENESS
        probe = container.liveness_probe if is_liveness else container.startup_probe
    own = None if probe is None else probe.termination_grace_period_seconds
    return grace if own is None else own


# the end


def _end(view: View, because: str) -> Plan:
    """Kill what runs; remove what never did."""
    steps: list[Step] = list(_outdated(view))
    for name in view.found:
        newest = view.newest(name)
        if newest is None or name in view.busy:
            continue
        if newest.state is State.CREATED:
            steps.append(Discard(newest))
        elif newest.state is State.RUNNING:
            container = _get(view, name)
            grace, after = _grace(view, container), tuple(_before(view, container))
            steps.append(Kill(newest, container, grace, f"Stopping container {name}", after))
    return Plan(because, tuple(steps), is_over=view.is_empty)


def _before(view: View, container: Container) -> Iterator[str]:
    """The containers that must end before a sidecar: the others, and sidecars started later."""
    spec = view.pod.spec
    names = [each.name for each in spec.init_containers]
    if not container.is_sidecar or container.name not in names:
        return
    index = names.index(container.name)
    later = spec.init_containers[index + 1 :]
    earlier = (each for each in spec.init_containers[:index] if not each.is_sidecar)
    for each in (*earlier, *later, *spec.containers):
        if _is_running(view.newest(each.name)):
            yield each.name


def _get(view: View, name: str) -> Container:
    for container in view.pod.spec.all_containers:
        if container.name == name:
            return container
    return Container(name)


def _outdated(view: View) -> Iterator[Discard]:
    """Older attempts that are no longer needed."""
    for name, group in view.found.items():
        if name not in view.busy:
            yield from (Discard(one) for one in group[KEPT:] if one.state is State.EXITED)
