"""The files of a projected volume: each of its sources asked, all at a time."""

import asyncio
from collections.abc import Iterable, Sequence

from mooring.host.atomic_dir import FileContent
from mooring.host.blocking import in_thread
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.model.pod_volume import (
    DownwardFile,
    Projection,
    TokenProjection,
    TrustBundleProjection,
)
from mooring.plugins import trust_anchors
from mooring.plugins.config_map import config_map_files
from mooring.plugins.contract import MountRequest
from mooring.plugins.downward_api import downward_files
from mooring.plugins.payload import Files, Incomplete, Room, ask, choose
from mooring.plugins.secret import secret_files
from mooring.plugins.volume_host import NodeObjects, TokenWish

_TOKEN_SECONDS = 3600
_NO_CERTIFICATES = (
    "podCertificate projection is not supported: it needs the feature gate PodCertificateRequest, "
    "which is off"
)
_PRIVATE = 0o600  # a pod's group gets its share when the volume is given to it


class Projections:
    """What one pod gets."""

    def __init__(self, objects: NodeObjects, pod: Pod, mode: int, request: MountRequest) -> None:
        self._objects = objects
        self._pod = pod
        self._mode = mode
        self._request = request
        self._room = Room()
        self._counting = asyncio.Lock()

    async def gather(self, sources: Iterable[Projection]) -> Files:
        """Where paths are the same, the later source wins.

        Raises: Incomplete with what is wrong with any of them.
        """
        async with asyncio.TaskGroup() as tasks:
            asked = [tasks.create_task(self._attempt(source)) for source in sources]
        files: dict[str, FileContent] = {}
        texts: list[str] = []
        for answer in (task.result() for task in asked):
            if isinstance(answer, Incomplete):
                texts += answer.texts
            else:
                files.update(answer)
        if texts:
            raise Incomplete(texts)
        return files

    async def _attempt(self, source: Projection) -> Files | Incomplete:
        try:
            self._room.take({})
            return self._room.take(await self._files(source))
        except Incomplete as reasons:
            return reasons

    async def _files(self, source: Projection) -> Files:
        if (wanted := source.secret) is not None:
            key = Key(self._pod.namespace, wanted.name)
            return await secret_files(self._objects, key, choose(wanted, self._mode))
        if (wanted := source.config_map) is not None:
            key = Key(self._pod.namespace, wanted.name)
            return await config_map_files(self._objects, key, choose(wanted, self._mode))
        if source.downward_api is not None:
            return await self._own_fields(source.downward_api.items)
        if source.service_account_token is not None:
            return await self._token(source.service_account_token)
        if source.cluster_trust_bundle is not None:
            return await self._trust_bundle(source.cluster_trust_bundle)
        if source.pod_certificate is not None:
            raise Incomplete([_NO_CERTIFICATES])
        return {}

    async def _own_fields(self, items: Sequence[DownwardFile]) -> Files:
        async with self._counting:  # one at a time, as long as there is room
            self._room.take({})
            allocatable = self._objects.allocatable()
            return await in_thread(downward_files, items, self._pod, allocatable, self._mode)

    async def _token(self, wanted: TokenProjection) -> Files:
        wish = TokenWish(
            account=Key(self._pod.namespace, self._pod.spec.service_account_name),
            pod_name=self._pod.name,
            pod_uid=self._pod.uid,
            audiences=(wanted.audience,) if wanted.audience else (),
            seconds=wanted.expiration_seconds or _TOKEN_SECONDS,
        )
        token = await ask(self._objects.token(wish))
        return {wanted.path: self._credential(token.value.reveal())}

    async def _trust_bundle(self, wanted: TrustBundleProjection) -> Files:
        bundles: Sequence[str]
        if wanted.name is not None:
            bundles = [await self._bundle_by_name(wanted.name, wanted)]
        elif wanted.signer_name is not None:
            bundles = await self._bundles_by_signer(wanted.signer_name, wanted)
        else:
            raise Incomplete(
                ["ClusterTrustBundle projection requires either name or signerName to be set"]
            )
        return {wanted.path: self._credential(trust_anchors.merged(bundles))}

    async def _bundle_by_name(self, name: str, wanted: TrustBundleProjection) -> str:
        return await ask(
            self._objects.trust_bundle(name),
            if_missing="" if wanted.optional else None,
            doing="while getting ClusterTrustBundle: ",
        )

    async def _bundles_by_signer(self, signer: str, wanted: TrustBundleProjection) -> Sequence[str]:
        selector = wanted.label_selector
        try:
            if selector is not None:
                selector.selector()
        except ValueError as error:
            raise Incomplete([f"while parsing label selector: {error}"]) from error
        bundles = await ask(
            self._objects.trust_bundles(signer, selector),
            doing="while listing ClusterTrustBundles: ",
        )
        if not bundles and not wanted.optional:
            raise Incomplete(
                ["combination of signerName and labelSelector matched zero ClusterTrustBundles"]
            )
        return bundles

    def _credential(self, data: bytes) -> FileContent:
        """A file readable only by the pod's one user, or its fsGroup, if it has such."""
        is_private = self._request.fs_user is not None or self._request.fs_group is not None
        return FileContent(data, _PRIVATE if is_private else self._mode, self._request.fs_user)
