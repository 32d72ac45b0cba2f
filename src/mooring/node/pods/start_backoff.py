"""A start that failed: when it is tried again, which reason and which events say why."""

from mooring import log
from mooring.clock import Clock
from mooring.errors import MooringError
from mooring.model.backoff import Backoff
from mooring.model.container import Container
from mooring.model.pod import Pod
from mooring.node.pods.container_spec import StartOptions
from mooring.node.pods.container_statuses import MESSAGE_NOTE, REASON_NOTE, START_ERROR
from mooring.node.pods.events import PodEvents
from mooring.node.pods.pod_run import PodRun
from mooring.node.pods.security import pod_id
from mooring.node.pods.view import WaitingReason
from mooring.node.pods.waiting_reason import (
    CONFIG,
    CREATE,
    IMAGE_AGAIN,
    INVALID_IMAGE,
    NEVER_PULL,
    OF_IMAGES,
    RUN,
    CannotStart,
)
from mooring.oci.contract import Found, RuntimeRefused, State
from mooring.reconcile.poison import set_aside

CONFIG_AGAIN = Backoff(first=1.0, cap=15.0)  # an object that is missing may come any moment
REFUSED_AGAIN = Backoff(first=1.0, cap=60.0)
_IMAGE_EVENTS = {NEVER_PULL: NEVER_PULL, INVALID_IMAGE: "InspectFailed"}  # by waiting reason
CANNOT_RUN = (126, 127)  # exit codes of a program that is not there, or is none

_log = log.get("mooring.node.pods")


def back_off_text(pod: Pod, container: Container, seconds: float) -> str:
    return (
        f"back-off {duration(seconds)} restarting failed "
        f"container={container.name} pod={pod_id(pod)}"
    )


def duration(seconds: float) -> str:
    """As Go writes it: 10s, 1m20s, 5m0s."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


class StartBackoff:
    def __init__(self, events: PodEvents, clock: Clock) -> None:
        self._events = events
        self._clock = clock

    def note(self, run: PodRun, wish: StartOptions, error: Exception) -> bool:
        """The start of a container has failed; whether that counts as an attempt."""
        match error:
            case CannotStart() if error.reason in OF_IMAGES:
                self._image(run, wish, error)
            case CannotStart():
                self._wait(run, wish, error.reason, str(error), CONFIG_AGAIN)
            case RuntimeRefused() if error.exit_code in CANNOT_RUN:
                self._never_ran(run, wish, error)
                return True
            case RuntimeRefused():
                self._wait(run, wish, CREATE, str(error), REFUSED_AGAIN)
            case MooringError():
                self._wait(run, wish, CONFIG, str(error), CONFIG_AGAIN)
            case _:
                set_aside("container starts", wish.pod.key)
                self._wait(run, wish, RUN, "internal error", REFUSED_AGAIN)
        return False

    def _image(self, run: PodRun, wish: StartOptions, error: CannotStart) -> None:
        """What was pulled, and how it failed, is told by whoever pulls (`pod_images.py`)."""
        name = wish.container.name
        failures = self._failures(run, name, OF_IMAGES)
        seconds = error.again or IMAGE_AGAIN.delay(failures)
        if error.reason in _IMAGE_EVENTS:
            self._warn(wish, _IMAGE_EVENTS[error.reason], str(error))
        self._warn(wish, "Failed", f"Error: {error.reason}")
        self._keep(run, name, error.reason, str(error), seconds, failures)

    def _never_ran(self, run: PodRun, wish: StartOptions, error: RuntimeRefused) -> None:
        """Its program is not there: that counts as an end, and the pod's policy says what then."""
        self._warn(wish, "Failed", f"Error: {error}")
        now = self._clock.now()
        run.ghosts[wish.id] = Found(
            id=wish.id,
            owner=wish.owner,
            state=State.EXITED,
            created_at=now,
            log_path=wish.log_path,
            image_id="",
            notes={REASON_NOTE: START_ERROR, MESSAGE_NOTE: str(error)},
            finished_at=now,
            exit_code=error.exit_code,
        )
        run.waiting_reasons[wish.container.name] = WaitingReason(
            RUN, str(error), self._clock.monotonic()
        )

    def _wait(
        self, run: PodRun, wish: StartOptions, reason: str, message: str, again: Backoff
    ) -> None:
        name = wish.container.name
        failures = self._failures(run, name, {reason})
        self._warn(wish, "Failed", f"Error: {message}")
        self._keep(run, name, reason, message, again.delay(failures), failures)

    def _failures(self, run: PodRun, name: str, alike: frozenset[str] | set[str]) -> int:
        before = run.waiting_reasons.get(name)
        return before.failures + 1 if before is not None and before.reason in alike else 1

    def _keep(
        self, run: PodRun, name: str, reason: str, message: str, seconds: float, failures: int
    ) -> None:
        until = self._clock.monotonic() + seconds
        run.waiting_reasons[name] = WaitingReason(reason, message, until, failures)

    def _warn(self, wish: StartOptions, reason: str, text: str) -> None:
        self._events.warning(wish.pod, wish.container, reason, text)
