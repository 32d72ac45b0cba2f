"""Looking up what a request for a volume needs: its source, places, secrets, attributes."""

from collections.abc import Callable

from mooring.client.contract import Client
from mooring.csi.secrets import Secrets
from mooring.csi.topology import TopologyRequirement
from mooring.csi.volume import ContentSource
from mooring.errors import ApiError, NotFound
from mooring.model.attributes_class import AttributesClass
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.snapshot import Snapshot, SnapshotContent
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume
from mooring.sidecars.credentials import NoCredentials, read_credentials
from mooring.sidecars.driver import Driver
from mooring.sidecars.provisioner import sources
from mooring.sidecars.provisioner.draft import (
    Draft,
    check_abilities,
    check_attributes,
    draft,
)
from mooring.sidecars.provisioner.hindrance import Hindrance
from mooring.sidecars.provisioner.memory import Memory
from mooring.sidecars.provisioner.settings import Settings
from mooring.sidecars.provisioner.sources import DataSource, SourceKind, find_source
from mooring.sidecars.provisioner.topology import ClusterTopology, Wish, requirement


class Populated(Hindrance):
    """Somebody else fills and makes this volume; not ours to do anything."""


class Preparing:
    def __init__(
        self,
        client: Client,
        driver: Driver,
        settings: Settings,
        memory: Memory,
        cluster: Callable[[], ClusterTopology],
    ) -> None:
        self._client = client
        self._driver = driver
        self._settings = settings
        self._memory = memory
        self._cluster = cluster

    async def prepare(self, claim: Claim, storage_class: StorageClass) -> Draft:
        """Raises: Hindrance; ConnectionLost."""
        source = find_source(claim)
        if source is not None and source.kind is SourceKind.OTHER:
            raise Populated(f"data source ({source.word}) is not handled by the provisioner")
        check_abilities(self._driver.abilities, claim, source)
        begun = draft(claim, storage_class, self._driver, self._settings)
        return begun.completed(
            source=await self._content(claim, storage_class, source),
            topology=self._places(claim, storage_class),
            secrets=await self._secrets(begun),
            attributes=await self._attributes(claim),
        )

    async def _content(
        self, claim: Claim, storage_class: StorageClass, source: DataSource | None
    ) -> ContentSource | None:
        if source is None:
            return None
        try:
            if source.kind is SourceKind.SNAPSHOT:
                return await self._from_snapshot(claim, storage_class, source.key)
            return await self._from_clone(claim, storage_class, source.key)
        except Hindrance as error:
            what = f"DataSource Type {source.word} by Name {source.key.name}"
            raise Hindrance(f"error getting handle for {what}: {error}", error.then) from error

    async def _from_snapshot(
        self, claim: Claim, storage_class: StorageClass, key: Key
    ) -> ContentSource:
        try:
            snapshot = await self._client.get(Snapshot, key)
        except ApiError as error:
            raise Hindrance(
                f"error getting snapshot {key.name} from api server: {error}"
            ) from error
        name = sources.check_snapshot(snapshot)
        try:
            content = await self._client.get(SnapshotContent, Key("", name))
        except ApiError as error:
            what = f"error getting snapshotcontent {name} for snapshot {key.name}"
            raise Hindrance(what) from error
        return sources.from_snapshot(claim, storage_class, snapshot, content)

    async def _from_clone(
        self, claim: Claim, storage_class: StorageClass, key: Key
    ) -> ContentSource:
        try:
            source = await self._client.get(Claim, key)
        except ApiError as error:
            where = f'(namespace "{claim.namespace}") from api server'
            raise Hindrance(f"error getting PVC {key.name} {where}: {error}") from error
        name = sources.check_clone(claim, source)
        try:
            volume = await self._client.get(Volume, Key("", name))
        except ApiError as error:
            raise Hindrance("claim in dataSource not bound or invalid") from error
        return sources.from_clone(claim, storage_class, source, volume)

    def _places(self, claim: Claim, storage_class: StorageClass) -> TopologyRequirement | None:
        if not self._driver.abilities.has_topology:
            return None
        told = self._memory.places_of(claim.uid)
        if told is not None:
            return told[0]
        wish = Wish(
            claim=claim.name,
            node=claim.selected_node,
            allowed=storage_class.allowed_topologies,
            is_strict=self._settings.strict_topology,
            tells_cluster=self._settings.immediate_topology,
        )
        return requirement(wish, self._cluster())

    async def _secrets(self, begun: Draft) -> Secrets:
        reference = begun.references.provisioner
        try:
            return await read_credentials(self._client, reference)
        except NoCredentials as error:
            where = "" if reference is None else f"{reference.name} in namespace"
            namespace = "" if reference is None else reference.namespace
            raise Hindrance(f"error getting secret {where} {namespace}: {error}") from error

    async def _attributes(self, claim: Claim) -> AttributesClass | None:
        name = claim.spec.volume_attributes_class_name
        if not name:
            return None
        try:
            attributes = await self._client.get(AttributesClass, Key("", name))
        except NotFound as error:
            raise Hindrance(str(error)) from error
        check_attributes(attributes, self._driver.name)
        return attributes
