"""Waiting until a pod has all its volumes, or none any more; and saying what is missing.

A wait is woken by changes that concern its pod. It does not poll.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence

import msgspec

from mooring.clock import Clock
from mooring.errors import MooringError
from mooring.model.pod import Pod
from mooring.node.actual import Actual, PodState
from mooring.node.claims import used_names
from mooring.node.desired import Desired, WantedVolume
from mooring.reconcile.deadline import within

PATIENCE = 123.0  # seconds: two minutes and a little, as people know it from Kubernetes
TIMED_OUT = "context deadline exceeded"


class Missing(msgspec.Struct, frozen=True):
    """What a pod does not have, by the names in the pod."""

    unmounted: frozenset[str]
    unattached: tuple[WantedVolume, ...]
    unattached_names: frozenset[str]
    unknown: frozenset[str]  # not resolved to a volume yet

    def __str__(self) -> str:
        return (
            f"unmounted volumes={_listed(self.unmounted)}, "
            f"unattached volumes={_listed(self.unattached_names)}, "
            f"failed to process volumes={_listed(self.unknown)}"
        )


class NotMounted(MooringError):
    """Volumes of a pod are not there; the text names them and says why."""

    def __init__(self, missing: Missing, cause: str, *, has_timed_out: bool) -> None:
        super().__init__(f"{missing}: {cause}")
        self.missing = missing
        self.has_timed_out = has_timed_out


class NodeFull(MooringError):
    """Volumes of a pod are not there because the node takes no more of them."""

    def __init__(self, error: NotMounted) -> None:
        super().__init__(f"Node has reached its volume attachment limit, rejecting pod. {error}")


class StillMounted(MooringError):
    """Volumes of a pod are still there."""


class Waits:
    def __init__(self, clock: Clock, desired: Desired, actual: Actual) -> None:
        self._clock = clock
        self._desired = desired
        self._actual = actual
        self._errors: dict[str, tuple[str, ...]] = {}  # of a pod's volumes, not reported yet
        self._operations: dict[str, int] = {}  # under way on behalf of a pod
        self._woken: dict[str, set[asyncio.Event]] = {}

    # called on changes

    def wake(self, pod_uid: str) -> None:
        for event in self._woken.get(pod_uid, ()):
            event.set()

    def failed(self, pod_uid: str, errors: Sequence[str]) -> None:
        """The pod's volumes could not be found out; an empty list takes that back."""
        if errors:
            self._errors[pod_uid] = tuple(errors)
        else:
            self._errors.pop(pod_uid, None)
        self.wake(pod_uid)

    def began(self, pod_uid: str) -> None:
        """An operation on behalf of the pod runs: whatever the picture says, it is not over."""
        self._operations[pod_uid] = self._operations.get(pod_uid, 0) + 1

    def ended(self, pod_uid: str) -> None:
        left = self._operations[pod_uid] - 1
        if left:
            self._operations[pod_uid] = left
        else:
            del self._operations[pod_uid]
        self.wake(pod_uid)

    # waiting

    async def mounted(self, pod: Pod) -> None:
        """Returns once every volume that its containers use is mounted. Raises: NotMounted."""
        cause, has_timed_out = "", False
        try:
            async with within(self._clock, PATIENCE):
                cause = await self._until_mounted(pod)
        except TimeoutError:
            cause, has_timed_out = TIMED_OUT, True
        if cause and self._unmounted(pod):
            raise NotMounted(self._missing(pod), cause, has_timed_out=has_timed_out)

    async def unmounted(self, pod_uid: str) -> None:
        """Returns once no volume is certainly mounted for the pod. Raises: StillMounted."""
        try:
            async with within(self._clock, PATIENCE):
                await self._until(pod_uid, lambda: not self._mounted_names(pod_uid))
        except TimeoutError:
            if names := self._mounted_names(pod_uid):
                text = f"mounted volumes={_listed(names)}: {TIMED_OUT}"
                raise StillMounted(text) from None

    async def all_unmounted(self, pod_uids: Iterable[str]) -> None:
        """The same for many pods. Raises: StillMounted, once all waits have ended."""
        waits = (self.unmounted(uid) for uid in pod_uids)
        ends = await asyncio.gather(*waits, return_exceptions=True)
        errors = [end for end in ends if isinstance(end, BaseException)]
        for error in errors:
            if not isinstance(error, StillMounted):
                raise error
        if errors:
            texts = list(dict.fromkeys(map(str, errors)))
            raise StillMounted(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")

    async def gone(self, pod_uid: str, and_so: Callable[[], bool] = lambda: True) -> None:
        """Returns once none of the pod's volumes is mounted, uncertain or being mounted."""
        await self._until(pod_uid, lambda: not self._has_traces(pod_uid) and and_so())

    def _has_traces(self, pod_uid: str) -> bool:
        return pod_uid in self._operations or any(True for _ in self._actual.of_pod(pod_uid))

    async def _until_mounted(self, pod: Pod) -> str:
        """The reason why it will not be, or "" once it is."""
        await self._until(pod.uid, lambda: pod.uid in self._errors or not self._unmounted(pod))
        return "; ".join(self._errors.pop(pod.uid, ()))

    async def _until(self, pod_uid: str, is_so: Callable[[], bool]) -> None:
        event = asyncio.Event()
        self._woken.setdefault(pod_uid, set()).add(event)
        try:
            while not is_so():
                event.clear()
                await event.wait()
        finally:
            waiting = self._woken[pod_uid]
            waiting.discard(event)
            if not waiting:
                del self._woken[pod_uid]

    # what is there

    def _mounted_names(self, pod_uid: str) -> list[str]:
        return [
            volume.name
            for volume in self._actual.of_pod(pod_uid)
            if volume.pods[pod_uid].state is PodState.MOUNTED
        ]

    def _unmounted(self, pod: Pod) -> frozenset[str]:
        """The names in the pod that are not mounted, or not even understood."""
        missing = used_names(pod)
        mounted = set(self._mounted_names(pod.uid))
        for volume in self._desired.of_pod(pod.uid):
            if volume.name in mounted:
                missing -= volume.pods[pod.uid].outer_names
        return missing

    def _missing(self, pod: Pod) -> Missing:
        unmounted = unknown = self._unmounted(pod)
        unattached: list[WantedVolume] = []
        names: set[str] = set()
        for volume in self._desired.of_pod(pod.uid):
            outers = volume.pods[pod.uid].outer_names
            unknown -= outers
            here = self._actual.find(volume.name)
            if volume.is_attachable and (here is None or not here.is_attached):
                unattached.append(volume)
                names |= outers
        return Missing(unmounted, tuple(unattached), frozenset(names), unknown)


def _listed(names: Iterable[str]) -> str:
    return f"[{' '.join(sorted(names))}]"
