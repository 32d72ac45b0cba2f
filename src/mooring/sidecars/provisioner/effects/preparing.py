"""Looking up what a request for a volume needs: its source, places, secrets, attributes."""

from collections.abc import Callable

import msgspec

from mooring.csi.secrets import NO_SECRETS, Secrets
from mooring.csi.topology import TopologyRequirement
from mooring.csi.volume import ContentSource
from mooring.errors import ApiError, NotFound
from mooring.model.attributes_class import AttributesClass
from mooring.model.claim import Claim
from mooring.model.csi_translation.contract import TranslationError
from mooring.model.csi_translation.translate import serves, translate_class
from mooring.model.keys import Key
from mooring.model.may_destroy import handle_of
from mooring.model.meta import ObjectMeta
from mooring.model.reference import SecretReference
from mooring.model.snapshot import Snapshot, SnapshotContent
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume
from mooring.model.wellknown import Annotation
from mooring.sidecars.credentials import NoCredentials, NoSuchSecret, read_credentials
from mooring.sidecars.provisioner import secret_templates, sources
from mooring.sidecars.provisioner.context import ProvisionerContext
from mooring.sidecars.provisioner.draft import (
    Draft,
    check_abilities,
    check_attributes,
    draft,
)
from mooring.sidecars.provisioner.record import find_request
from mooring.sidecars.provisioner.secret_templates import Subject, find_secret
from mooring.sidecars.provisioner.sources import DataSource, SourceKind, find_source
from mooring.sidecars.provisioner.topology import ClusterTopology, Wish, requirement
from mooring.sidecars.provisioner.waiting_reason import WaitingReason


class Populated(WaitingReason):
    """A volume populator makes and fills this volume; the provisioner does nothing."""


class SecretGone(WaitingReason):
    """There is no such secret: waiting may be in vain."""


class Remade(msgspec.Struct, frozen=True):
    """A request built again; `gaps` are the parts of the first one that could not be found."""

    draft: Draft
    gaps: tuple[str, ...] = ()


class Preparing:
    def __init__(self, context: ProvisionerContext, cluster: Callable[[], ClusterTopology]) -> None:
        self._client = context.client
        self._driver = context.driver
        self._options = context.options
        self._memory = context.memory
        self._caches = context.caches
        self._cluster = cluster

    async def prepare(self, claim: Claim, storage_class: StorageClass) -> Draft:
        """Raises: WaitingReason; ConnectionLost."""
        source = find_source(claim)
        if source is not None and source.kind is SourceKind.OTHER:
            raise Populated(f"data source ({source.word}) is not handled by the provisioner")
        if source is not None:
            self._caches.check_access(claim, source)
        check_abilities(self._driver.abilities, claim, source)
        translated = in_driver_terms(storage_class)
        begun = self._begin(claim, storage_class, translated)
        return begun.completed(
            source=await self._content(claim, storage_class, source),
            topology=self._places(claim, translated),
            secrets=await self._secrets(begun.references.provisioner),
            attributes=await self._attributes(claim),
        )

    async def prepare_again(self, claim: Claim, storage_class: StorageClass | None) -> Remade:
        """The request that was, or may have been, sent for the claim: only to find out what became
        of it. `storage_class` is None if it is gone, or another driver's.

        Raises: WaitingReason for what will pass, or what the driver cannot do; ConnectionLost.
        """
        source, gaps = _find_source_or_none(claim), list[str]()
        check_abilities(self._driver.abilities, claim, source)
        if storage_class is None:
            gaps.append(f"without its class {claim.storage_class}, which is gone or another's")
            meta = ObjectMeta(name=claim.storage_class)
            storage_class = StorageClass(metadata=meta, provisioner=self._driver.name)
            translated = storage_class
            begun = self._begin(claim, storage_class, translated)
            reference = self._vouched_secret(claim, begun)
        else:
            translated = in_driver_terms(storage_class)
            begun = self._begin(claim, storage_class, translated)
            reference = begun.references.provisioner
        content, topology, attributes = None, None, None
        try:
            if source is not None and claim.uid not in self._memory.open:
                self._caches.check_access(claim, source)  # the record is the owner's word only
            content = await self._content(claim, storage_class, source)
        except WaitingReason as error:
            gaps.append(f"without its source: {error}")
        try:
            topology = self._places(claim, translated)
        except WaitingReason as error:
            gaps.append(f"without places: {error}")
        try:
            attributes = await self._attributes(claim)
        except WaitingReason as error:
            gaps.append(f"without attributes: {error}")
        secrets = NO_SECRETS
        try:
            secrets = await self._secrets(reference)
        except SecretGone as error:
            gaps.append(f"without secrets: {error}")
        whole = begun.completed(
            source=content, topology=topology, secrets=secrets, attributes=attributes
        )
        return Remade(whole, tuple(gaps))

    def _begin(self, claim: Claim, storage_class: StorageClass, translated: StorageClass) -> Draft:
        """In the driver's terms; the volume is of the class as it was written."""
        begun = draft(claim, translated, self._driver, self._options)
        return msgspec.structs.replace(begun, storage_class=storage_class)

    def _vouched_secret(self, claim: Claim, begun: Draft) -> SecretReference | None:
        """The recorded secret, if a class or a volume of the driver names it too: the record can be
        written by the owner of the claim, who may not choose secrets."""
        request = find_request(claim)
        reference = request.secret if request else None
        if reference is None:
            return None
        subject = Subject(begun.request.name, claim.namespace, claim.name)
        named = (
            _find_secret_or_none(each, subject)
            for each in self._caches.classes.all()
            if serves(self._driver.name, each.provisioner)
        )
        used = (
            (
                each.metadata.annotations.get(Annotation.DELETION_SECRET_NAME),
                each.metadata.annotations.get(Annotation.DELETION_SECRET_NAMESPACE),
            )
            for each in self._caches.volumes.all()
            if (handle := handle_of(each)) is not None and handle[0] == self._driver.name
        )
        is_vouched = reference in named or (reference.name, reference.namespace) in used
        return reference if is_vouched else None

    async def _content(
        self, claim: Claim, storage_class: StorageClass, source: DataSource | None
    ) -> ContentSource | None:
        if source is None:
            return None
        try:
            if source.kind is SourceKind.SNAPSHOT:
                return await self._from_snapshot(claim, storage_class, source.key)
            return await self._from_clone(claim, storage_class, source.key)
        except WaitingReason as error:
            what = f"DataSource Type {source.word} by Name {source.key.name}"
            raise WaitingReason(f"error getting handle for {what}: {error}", error.then) from error

    async def _from_snapshot(
        self, claim: Claim, storage_class: StorageClass, key: Key
    ) -> ContentSource:
        try:
            snapshot = await self._client.get(Snapshot, key)
        except ApiError as error:
            raise WaitingReason(
                f"error getting snapshot {key.name} from api server: {error}"
            ) from error
        name = sources.check_snapshot(snapshot)
        try:
            content = await self._client.get(SnapshotContent, Key("", name))
        except ApiError as error:
            what = f"error getting snapshotcontent {name} for snapshot {key.name}"
            raise WaitingReason(what) from error
        return sources.from_snapshot(claim, storage_class, snapshot, content)

    async def _from_clone(
        self, claim: Claim, storage_class: StorageClass, key: Key
    ) -> ContentSource:
        try:
            source = await self._client.get(Claim, key)
        except ApiError as error:
            where = f'(namespace "{key.namespace}") from api server'
            raise WaitingReason(f"error getting PVC {key.name} {where}: {error}") from error
        name = sources.check_clone(claim, source)
        try:
            volume = await self._client.get(Volume, Key("", name))
        except ApiError as error:
            raise WaitingReason("claim in dataSource not bound or invalid") from error
        return sources.from_clone(claim, storage_class, source, volume)

    def _places(self, claim: Claim, storage_class: StorageClass) -> TopologyRequirement | None:
        if not self._driver.abilities.has_topology:
            return None
        told = self._memory.topology_sent(claim.uid)
        if told is not None:
            return told[0]
        request = find_request(claim)
        if request is not None and not request.is_topology_left_out:
            return request.topology
        wish = Wish(
            claim=claim.name,
            node=claim.selected_node,
            allowed=storage_class.allowed_topologies,
            is_strict=self._options.strict_topology,
            tells_cluster=self._options.immediate_topology,
        )
        return requirement(wish, self._cluster())

    async def _secrets(self, reference: SecretReference | None) -> Secrets:
        """Raises: SecretGone, WaitingReason."""
        try:
            return await read_credentials(self._client, reference)
        except NoCredentials as error:
            where = "" if reference is None else f"{reference.name} in namespace"
            namespace = "" if reference is None else reference.namespace
            raised = SecretGone if isinstance(error, NoSuchSecret) else WaitingReason
            raise raised(f"error getting secret {where} {namespace}: {error}") from error

    async def _attributes(self, claim: Claim) -> AttributesClass | None:
        name = claim.spec.volume_attributes_class_name
        if not name:
            return None
        try:
            attributes = await self._client.get(AttributesClass, Key("", name))
        except NotFound as error:
            raise WaitingReason(str(error)) from error
        check_attributes(attributes, self._driver.name)
        return attributes


def in_driver_terms(storage_class: StorageClass) -> StorageClass:
    """The class of a migrated plugin, as the driver has it. Raises: WaitingReason."""
    try:
        return translate_class(storage_class)
    except TranslationError as error:
        raise WaitingReason(f"failed to translate storage class: {error}") from error


def _find_source_or_none(claim: Claim) -> DataSource | None:
    """Of a claim that a driver was asked about: what it cannot have been filled from is none."""
    try:
        source = find_source(claim)
    except WaitingReason:
        return None
    return None if source is None or source.kind is SourceKind.OTHER else source


def _find_secret_or_none(storage_class: StorageClass, subject: Subject) -> SecretReference | None:
    try:
        parameters = in_driver_terms(storage_class).parameters
        return find_secret(secret_templates.PROVISIONER, parameters, subject)
    except WaitingReason:
        return None
