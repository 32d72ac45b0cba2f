"""What a node sees of the API for its pods' volumes: secrets, config maps, tokens, trust bundles.

Secrets and config maps are watched one by one, as a node's rights allow, while some pod here
refers to them; so a change shows in the pods' volumes at once. One that is immutable is read once.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from random import Random
from typing import Generic, Protocol

from mooring.client.contract import Client, Scope, T
from mooring.clock import Clock
from mooring.errors import NotFound
from mooring.model.config_map import ConfigMap
from mooring.model.endpoints import Endpoints
from mooring.model.keys import Key
from mooring.model.meta import ApiObject
from mooring.model.pod import Pod
from mooring.model.pod_volume import PodVolume
from mooring.model.secret import Secret
from mooring.model.selector import SelectorDocument, escape_field
from mooring.model.trust_bundle import TrustBundle
from mooring.node.claims import used_names
from mooring.node.tokens import Tokens
from mooring.plugins.volume_host import Token, TokenWish
from mooring.reconcile.cache import version_of
from mooring.reconcile.reflector import Reflector

_MISSING = ""  # the version of what is not there


class NodeObject(Protocol):
    """This node's Node object."""

    def labels(self) -> Mapping[str, str]: ...

    def allocatable(self) -> Mapping[str, str]: ...


class ApiObjects:
    """`NodeObjects` of the plugins' contract. `run` runs its watches until cancelled."""

    def __init__(self, client: Client, clock: Clock, rng: Random, own_node: NodeObject) -> None:
        self._client = client
        self._own_node = own_node
        self._tokens = Tokens(client, clock, rng)
        self._secrets = _Followed(Secret, "secret", client, clock, rng)
        self._config_maps = _Followed(ConfigMap, "configmap", client, clock, rng)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            self._secrets.run_in(tasks)
            self._config_maps.run_in(tasks)
            await asyncio.get_running_loop().create_future()  # what comes later runs here too

    def on_change(self, handler: Callable[[str], None]) -> None:
        """Call `handler` with the uid of a pod when an object shown in its volumes has changed.

        It must be quick, and must not raise.
        """
        self._secrets.handlers.append(handler)
        self._config_maps.handlers.append(handler)

    def follow(self, pod: Pod) -> None:
        """Watch what the pod's volumes show; said again, it brings news of the pod."""
        self._secrets.follow(pod.uid, {Key(pod.namespace, name) for name in _secrets(pod)})
        self._config_maps.follow(pod.uid, {Key(pod.namespace, name) for name in _config_maps(pod)})

    def unfollow(self, pod_uid: str) -> None:
        """The pod is gone from this node."""
        self._secrets.follow(pod_uid, set())
        self._config_maps.follow(pod_uid, set())
        self._tokens.forget(pod_uid)

    # what plugins ask for

    async def secret(self, key: Key) -> Secret:
        """Raises: NotFound, ApiError, ConnectionLost."""
        return await self._secrets.read(key)

    async def config_map(self, key: Key) -> ConfigMap:
        """Raises: NotFound, ApiError, ConnectionLost."""
        return await self._config_maps.read(key)

    async def endpoints(self, key: Key) -> Endpoints:
        """Raises: NotFound, ApiError, ConnectionLost."""
        return await self._client.get(Endpoints, key)

    async def token(self, wish: TokenWish) -> Token:
        return await self._tokens.get(wish)

    async def forget_tokens(self, pod_uid: str) -> None:
        self._tokens.forget(pod_uid)

    async def trust_bundle(self, name: str) -> str:
        """PEM. Raises: NotFound, ApiError, ConnectionLost."""
        try:
            found = await self._client.get(TrustBundle, Key("", name))
        except NotFound as error:
            raise _no_bundle(error, f'clustertrustbundle.certificates.k8s.io "{name}"') from error
        return found.spec.trust_bundle

    async def trust_bundles(self, signer: str, selector: SelectorDocument | None) -> Sequence[str]:
        """PEM of all that match; no selector matches nothing, an empty one all.

        Raises: NotFound when the server has no such objects, ApiError, ConnectionLost.
        """
        if selector is None:
            return ()
        chosen = selector.selector()
        scope = Scope(fields=f"spec.signerName={escape_field(signer)}")
        try:
            listing = await self._client.list(TrustBundle, scope)
        except NotFound as error:
            raise _no_bundle(error, "clustertrustbundles.certificates.k8s.io") from error
        return tuple(
            bundle.spec.trust_bundle
            for bundle in listing.items
            if bundle.spec.signer_name == signer and chosen.matches(bundle.metadata.labels)
        )

    async def node_labels(self) -> Mapping[str, str]:
        return self._own_node.labels()

    def allocatable(self) -> Mapping[str, str]:
        return self._own_node.allocatable()


class _Followed(Generic[T]):
    """The objects of one kind that pods here refer to."""

    def __init__(
        self, kind: type[T], singular: str, client: Client, clock: Clock, rng: Random
    ) -> None:
        self.handlers: list[Callable[[str], None]] = []
        self._kind = kind
        self._singular = singular
        self._client = client
        self._clock = clock
        self._rng = rng
        self._by_key: dict[Key, _Watched[T]] = {}
        self._of_pod: dict[str, set[Key]] = {}
        self._tasks: asyncio.TaskGroup | None = None

    def run_in(self, tasks: asyncio.TaskGroup) -> None:
        self._tasks = tasks
        for watched in self._by_key.values():
            watched.start(tasks)

    def follow(self, pod_uid: str, keys: set[Key]) -> None:
        """From now on the pod refers to exactly these."""
        before = self._of_pod.pop(pod_uid, set())
        if keys:
            self._of_pod[pod_uid] = keys
        for key in before - keys:
            watched = self._by_key[key]
            watched.pods.discard(pod_uid)
            if not watched.pods:
                watched.stop()
                del self._by_key[key]
        for key in keys - before:
            self._watched(key).pods.add(pod_uid)

    async def read(self, key: Key) -> T:
        """The newest as far as the node knows; of what no pod refers to, the newest there is."""
        watched = self._by_key.get(key)
        try:
            found = await (self._client.get(self._kind, key) if watched is None else watched.read())
        except NotFound as error:
            # with upstream's text
            raise NotFound(f'{self._singular} "{key.name}" not found') from error
        return found

    def _watched(self, key: Key) -> "_Watched[T]":
        watched = self._by_key.get(key)
        if watched is None:
            scope = Scope(key.namespace, fields=f"metadata.name={escape_field(key.name)}")
            informer = Reflector(self._client, self._kind, scope, self._clock, self._rng)
            watched = self._by_key[key] = _Watched(self._client, key, informer, self._tell)
            if self._tasks is not None:
                watched.start(self._tasks)
        return watched

    def _tell(self, watched: "_Watched[T]") -> None:
        for pod_uid in tuple(watched.pods):
            for handler in self.handlers:
                handler(pod_uid)


class _Watched(Generic[T]):
    """One object: what is known of it, and what volumes have been shown of it."""

    def __init__(
        self,
        client: Client,
        key: Key,
        informer: Reflector[T],
        changed: Callable[["_Watched[T]"], None],
    ) -> None:
        self.pods: set[str] = set()  # that refer to it, by uid
        self._client = client
        self._key = key
        self._informer = informer
        self._changed = changed
        self._final: T | None = None  # immutable, so this is how it stays
        self._shown: str | None = None  # the version that was handed out last, if ever one was
        self._task: asyncio.Task[None] | None = None
        informer.on_change(self._on_change)

    def start(self, tasks: asyncio.TaskGroup) -> None:
        self._task = tasks.create_task(self._informer.run())

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def read(self) -> T:
        """Raises: NotFound, ApiError, ConnectionLost."""
        if self._final is not None:
            return self._final
        asked: T | None = None
        if not self._informer.synced.is_set():  # a pod that waits for a volume waits for no watch
            with suppress(NotFound):
                asked = await self._client.get(self._informer.kind, self._key)
        known = self._informer.get(self._key)
        found = max(filter(None, (asked, known)), key=version_of, default=None)
        self._shown = _version(found)
        if found is None:
            raise NotFound(f"{self._key} not found")
        self._keep_final(found)
        return found

    def _on_change(self, _: T | None, after: T | None) -> None:
        if after is not None:
            self._keep_final(after)
        if self._shown not in (None, _version(after)):
            self._changed(self)

    def _keep_final(self, found: T) -> None:
        if _is_immutable(found) and self._final is None:
            self._final = found
            self.stop()


def _is_immutable(found: ApiObject) -> bool:
    return isinstance(found, Secret | ConfigMap) and bool(found.immutable)


def _version(found: ApiObject | None) -> str:
    return _MISSING if found is None else found.metadata.resource_version


def _secrets(pod: Pod) -> Iterator[str]:
    """The secrets that volumes of the pod show to some container."""
    for volume in _used(pod):
        if volume.secret is not None:
            yield volume.secret.secret_name
        if volume.projected is not None:
            for part in volume.projected.sources or ():
                if part.secret is not None:
                    yield part.secret.name


def _config_maps(pod: Pod) -> Iterator[str]:
    for volume in _used(pod):
        if volume.config_map is not None:
            yield volume.config_map.name
        if volume.projected is not None:
            for part in volume.projected.sources or ():
                if part.config_map is not None:
                    yield part.config_map.name


def _used(pod: Pod) -> Iterator[PodVolume]:
    used = used_names(pod)
    return (volume for volume in pod.spec.volumes if volume.name in used)


def _no_bundle(error: NotFound, what: str) -> NotFound:
    """Without the name of what is missing, it is the kind that the server does not know."""
    if error.details.get("name"):
        return NotFound(f"{what} not found", details=error.details)
    return NotFound(
        f"{what}: this API server has no ClusterTrustBundles (certificates.k8s.io/v1beta1)"
    )
