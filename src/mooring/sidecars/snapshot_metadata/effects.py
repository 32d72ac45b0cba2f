"""Questions to the API server, whose answers `decide` judges. All are asked anew for each call."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from mooring.client.contract import Client
from mooring.csi.outcome import Code
from mooring.csi.secrets import Secrets
from mooring.errors import ApiError, ConnectionLost, NotFound, Unreadable
from mooring.model.document import Doc
from mooring.model.keys import Key
from mooring.model.review import SubjectAccessReview, TokenReview, UserInfo
from mooring.model.snapshot import Snapshot, SnapshotClass, SnapshotContent
from mooring.model.snapshot_metadata_service import SnapshotMetadataService
from mooring.reconcile.informer import Informer
from mooring.sidecars.credentials import NoCredentials, read_credentials
from mooring.sidecars.snapshot_metadata import decide
from mooring.sidecars.snapshot_metadata.view import Asked, CallRefused
from mooring.sidecars.snapshotter.caches import BY_HANDLE, Handle

_GROUP = Snapshot.resource.group


class Target(msgspec.Struct, frozen=True):
    """What the driver is asked about."""

    handle: str
    secrets: Secrets


class Questions:
    """For the snapshots of one driver."""

    def __init__(
        self, client: Client, contents: Informer[SnapshotContent], audience: str = ""
    ) -> None:
        """`contents` are indexed by handle; without an `audience`, that of the driver's
        SnapshotMetadataService is asked for."""
        self._client = client
        self._contents = contents
        self._audience = audience

    async def admit(self, asked: Asked, driver: str) -> None:
        """Raises: CallRefused, unless the token's owner may read snapshots in the namespace."""
        audience = self._audience or await self._find_audience(driver)
        async with _failing(Code.INTERNAL, "failed to authenticate user"):
            spec = {"token": asked.token, "audiences": [audience]}
            review = await self._client.create(TokenReview, {"metadata": {}, "spec": spec})
        user = decide.get_user(review.status, audience)
        await self._check_may_get(user, asked.namespace)
        if asked.base is not None:
            bases = self._contents.by_index(BY_HANDLE, Handle(driver, asked.base))
            for other in decide.namespaces_to_ask(bases, asked.namespace):
                await self._check_may_get(user, other)

    async def find_target(self, asked: Asked, driver: str) -> Target:
        """Raises: CallRefused."""
        what = f"failed to get VolumeSnapshot '{asked.namespace}/{asked.snapshot}'"
        async with _failing(Code.UNAVAILABLE, what, missing=Code.NOT_FOUND):
            snapshot = await self._client.get(Snapshot, Key(asked.namespace, asked.snapshot))
        name = decide.get_content_name(snapshot)
        async with _failing(Code.UNAVAILABLE, f"failed to get VolumeSnapshotContent '{name}'"):
            content = await self._client.get(SnapshotContent, Key("", name))
        handle = decide.get_handle(snapshot, content, driver)
        chosen = await self._class_of(snapshot, driver)
        reference = decide.find_secret(snapshot, content, chosen)
        try:
            secrets = await read_credentials(self._client, reference)
        except (NoCredentials, ConnectionLost, Unreadable) as error:
            text = f"failed to get credentials: {error}"
            raise CallRefused(Code.UNAVAILABLE, text) from error
        return Target(handle, secrets)

    async def _find_audience(self, driver: str) -> str:
        what = f"failed to find the SnapshotMetadataService CR for driver '{driver}'"
        async with _failing(Code.INTERNAL, what):
            service = await self._client.get(SnapshotMetadataService, Key("", driver))
        return service.spec.audience

    async def _check_may_get(self, user: UserInfo, namespace: str) -> None:
        spec: Doc = {
            "user": user.username,
            "groups": list(user.groups),
            "resourceAttributes": {
                "namespace": namespace,
                "verb": "get",
                "group": _GROUP,
                "version": Snapshot.resource.version,
                "resource": Snapshot.resource.plural,
            },
        }
        if user.uid:
            spec["uid"] = user.uid
        if user.extra:
            spec["extra"] = {name: list(values) for name, values in user.extra.items()}
        async with _failing(Code.INTERNAL, "failed to authorize the user"):
            review = await self._client.create(SubjectAccessReview, {"metadata": {}, "spec": spec})
        decide.check_allowed(review.status)

    async def _class_of(self, snapshot: Snapshot, driver: str) -> SnapshotClass | None:
        name = snapshot.spec.volume_snapshot_class_name
        if name:
            async with _failing(Code.UNAVAILABLE, f"failed to get VolumeSnapshotClass '{name}'"):
                return await self._client.get(SnapshotClass, Key("", name))
        async with _failing(Code.UNAVAILABLE, "failed to list VolumeSnapshotClasses"):
            classes = (await self._client.list(SnapshotClass)).items
        return decide.choose_default_class(classes, driver)


@asynccontextmanager
async def _failing(code: Code, what: str, *, missing: Code | None = None) -> AsyncIterator[None]:
    """A question that is not answered ends the call with `code`; `missing`: if nothing is there."""
    try:
        yield
    except NotFound as error:
        raise CallRefused(missing or code, f"{what}: {error}") from error
    except (ApiError, ConnectionLost, Unreadable) as error:
        raise CallRefused(code, f"{what}: {error}") from error
