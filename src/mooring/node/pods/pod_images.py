"""The images of pods: found on this machine, or pulled, with the events and waits of Kubernetes.

A pull that failed is tried again after ten seconds, then after twice as long each time up to five
minutes; until then the container waits with ImagePullBackOff. That is kept for each pod and image.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol

import msgspec

from mooring.clock import Clock
from mooring.errors import HostError
from mooring.host.blocking import in_thread
from mooring.model.container import Container
from mooring.model.pod import Pod
from mooring.model.pod_volume import ImageSource
from mooring.node.pods.events import PodEvents
from mooring.node.pods.images import (
    ImageChoice,
    ImageView,
    decide_image,
    find_image,
    get_reference,
    never_pulled,
    not_pulled_here,
)
from mooring.node.pods.pull_secrets import PullSecrets
from mooring.node.pods.waiting_reason import IMAGE_AGAIN, PULL, PULL_BACK_OFF, CannotStart
from mooring.oci.contract import Images, StoredImage
from mooring.oci.reference import Reference
from mooring.oci.refused import ImageRefused
from mooring.oci.registry.errors import PullFailed
from mooring.oci.registry.logins import Keyring
from mooring.oci.registry.pull import Progress
from mooring.oci.registry.pulls import PulledImage
from mooring.oci.store import human_size

HOST_ROOT = "HostRootFilesystem"
FIRST_SECONDS = 1.0  # after which a failed pull is said to be waited for
PROGRESS_SECONDS = 30.0  # between two events on how far a pull is


class Pulls(Protocol):
    """`registry.pulls.ImagePulls`."""

    async def pull(
        self, reference: Reference, keyring: Keyring, tell: Callable[[Progress], None]
    ) -> PulledImage:
        """Raises: ImageRefused, HostError."""
        ...


class _Failed(msgspec.Struct, frozen=True):
    """The last pull of an image for a pod."""

    failures: int  # in a row
    until: float
    message: str


class PodImages:
    def __init__(
        self,
        images: Images,
        pulls: Pulls | None,
        secrets: PullSecrets,
        events: PodEvents,
        clock: Clock,
        *,
        host_rootfs: bool,
    ) -> None:
        self._images = images
        self._pulls = pulls
        self._secrets = secrets
        self._events = events
        self._clock = clock
        self._host_rootfs = host_rootfs
        self._on_host_root: set[str] = set()  # uids of pods with the event recorded
        self._failed: dict[tuple[str, str], _Failed] = {}  # by pod's uid and image

    async def for_container(self, pod: Pod, container: Container) -> StoredImage | None:
        """None: on the host's root. Raises: CannotStart."""
        view = await self._view(container.image, container.image_pull_policy, self._host_rootfs)
        if decide_image(view) is ImageChoice.HOST_ROOT:
            self._say_host_root(pod, container)
            return None
        return await self._get(pod, container, view)

    async def for_volume(self, pod: Pod, source: ImageSource) -> StoredImage:
        """Raises: CannotStart."""
        view = await self._view(source.reference, source.pull_policy, host_rootfs=False)
        return await self._get(pod, None, view)

    def forget(self, pod_uid: str) -> None:
        self._on_host_root.discard(pod_uid)
        for key in [key for key in self._failed if key[0] == pod_uid]:
            del self._failed[key]

    async def _view(
        self,
        written: str,
        policy: str,
        host_rootfs: bool,  # noqa: FBT001  a setting
    ) -> ImageView:
        found = await in_thread(find_image, self._images, written)
        return ImageView(written, policy, found, self._pulls is not None, host_rootfs)

    async def _get(self, pod: Pod, container: Container | None, view: ImageView) -> StoredImage:
        choice = decide_image(view)
        if choice is ImageChoice.NEVER:
            raise never_pulled(view.written)
        if choice is ImageChoice.PULL or view.found is None:
            return await self._pull(pod, container, view.written)
        text = (
            f'Container image "{view.written}" already present on machine '
            "and can be accessed by the pod"
        )
        self._events.normal(pod, container, "Pulled", text)
        self._failed.pop((pod.uid, view.written), None)
        return view.found

    async def _pull(self, pod: Pod, container: Container | None, written: str) -> StoredImage:
        key = (pod.uid, written)
        before = self._failed.get(key)
        if before is not None and self._clock.monotonic() < before.until:
            text = f'Back-off pulling image "{written}"'
            self._events.normal(pod, container, "BackOff", text)
            again = before.until - self._clock.monotonic()
            raise CannotStart(PULL_BACK_OFF, f"{text}: {PULL}: {before.message}", again)
        try:
            image = await self._try_pull(pod, container, written)
        except (ImageRefused, HostError) as error:
            failures = 1 if before is None else before.failures + 1
            until = self._clock.monotonic() + IMAGE_AGAIN.delay(failures)
            self._failed[key] = _Failed(failures, until, str(error))
            self._events.warning(
                pod, container, "Failed", f'Failed to pull image "{written}": {error}'
            )
            raise CannotStart(PULL, str(error), FIRST_SECONDS) from error
        self._failed.pop(key, None)
        return image

    async def _try_pull(self, pod: Pod, container: Container | None, written: str) -> StoredImage:
        """Raises: ImageRefused, HostError."""
        if self._pulls is None:
            raise PullFailed(not_pulled_here(written))
        began = self._clock.monotonic()
        self._events.normal(pod, container, "Pulling", f'Pulling image "{written}"')
        keyring = await self._secrets.keyring(pod)
        told: list[Progress] = []
        telling = asyncio.create_task(self._tell(pod, container, written, told))
        try:
            pulled = await self._pulls.pull(get_reference(written), keyring, told.append)
        finally:
            telling.cancel()
            await asyncio.wait({telling})
        seconds = go_duration(pulled.seconds)
        waited = go_duration(self._clock.monotonic() - began)
        self._events.normal(
            pod,
            container,
            "Pulled",
            f'Successfully pulled image "{written}" in {seconds} ({waited} including waiting). '
            f"Image size: {pulled.image.size} bytes.",
        )
        return pulled.image

    async def _tell(
        self, pod: Pod, container: Container | None, written: str, told: list[Progress]
    ) -> None:
        """How far a long pull is, now and then."""
        while True:
            await self._clock.sleep(PROGRESS_SECONDS)
            for progress in told:
                text = f'Pulling image "{written}": {progress_text(progress)}'
                self._events.normal(pod, container, "Pulling", text)

    def _say_host_root(self, pod: Pod, container: Container) -> None:
        if pod.uid in self._on_host_root:
            return
        self._on_host_root.add(pod.uid)
        text = (
            f'Image "{container.image}" is not on this machine: the container runs on a '
            "private overlay of the host's root file system"
        )
        self._events.normal(pod, None, HOST_ROOT, text)


def progress_text(progress: Progress) -> str:
    if progress.is_unpacking:
        return f"{human_size(progress.came)} came, unpacking"
    if not progress.total:
        return "waiting for the registry, or for other pulls"
    layers = f"{progress.layers} layer{'' if progress.layers == 1 else 's'}"
    return f"{human_size(progress.came)} of {human_size(progress.total)} came, {layers}"


def go_duration(seconds: float) -> str:
    """In whole milliseconds, as Go writes it: 532ms, 1.5s, 2m0.001s."""
    total = int(seconds * 1000)
    if total < 1000:
        return f"{total}ms" if total else "0s"
    minutes, rest = divmod(total, 60_000)
    hours, minutes = divmod(minutes, 60)
    text = f"{rest / 1000:.3f}".rstrip("0").rstrip(".") + "s"
    if hours:
        return f"{hours}h{minutes}m{text}"
    return f"{minutes}m{text}" if minutes else text
