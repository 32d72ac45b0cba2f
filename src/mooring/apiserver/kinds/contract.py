"""What the API server asks of a kind. A kind is one file that fills in one `Kind`.

All functions are pure over documents (`Doc`: decoded JSON, `kind` and `apiVersion` included).
`defaults`, `prepare_*` change the document they are given, which is theirs alone; `validate_*`
yield complaints; `row` prints. None of them reads a clock or a store: what they need beyond their
documents is in `Context`.

The order in which a write calls them:
create   defaults, prepare_create, (admission), validate, warnings
update   defaults, prepare_update(new, old), (admission), validate, validate_update(new, old)
         (with `judges_update_whole`: validate_update alone)
status   defaults, prepare_status(new, old), (admission), validate_status(new, old)
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from mooring.apiserver.structural.contract import Node
from mooring.model.document import Doc
from mooring.model.field_error import FieldError
from mooring.model.names import dns_subdomain

READ_WRITE = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


class Context(msgspec.Struct, frozen=True):
    """What a write knows beyond its documents."""

    now: str  # RFC 3339, whole seconds
    user: str = ""


class Column(msgspec.Struct, frozen=True):
    """A column of a Table. `wide` ones show with `kubectl get -o wide`."""

    name: str
    type: str = "string"
    format: str = ""
    description: str = ""
    wide: bool = False
    priority: int = 0  # as a definition says it: all but 0 are wide


class Subresource(msgspec.Struct, frozen=True):
    """A part of an object with its own path, apart from `status`, which `Kind.status` declares."""

    name: str
    verbs: tuple[str, ...]
    kind: str
    group: str = ""
    version: str = ""


class SubresourceStrategy(msgspec.Struct, frozen=True):
    """A subresource that writes some of an object's fields, by rules of its own."""

    prepare: Callable[[Doc, Doc, Context], None]  # (new, old): whatever else is said is dropped
    validate: Callable[[Doc, Doc], Iterable[FieldError]]


class Structure(Protocol):
    """What a definition says of the documents of its kind; read when it is first asked for."""

    @property
    def node(self) -> Node: ...

    @property
    def digest(self) -> str:
        """Of the definition that it is of: another one when that has changed."""
        ...

    def written(self) -> Doc:
        """The schema as its author wrote it; do not change it."""
        ...


class ScalePaths(msgspec.Struct, frozen=True):
    """Where a custom kind keeps its number of replicas: names, from the root of a document."""

    replicas: tuple[str, ...]
    status_replicas: tuple[str, ...]
    selector: tuple[str, ...] = ()


class ConversionWebhook(msgspec.Struct, frozen=True):
    """Who brings objects from one version to another."""

    client: Doc  # clientConfig
    review: str  # the version of ConversionReview that it is sent


class StoredAs(msgspec.Struct, frozen=True):
    """The versions that the objects of a definition are stored in, each by its apiVersion.

    A stored object says which one it is of. Those that do not say it were written when the
    definition had one version only, or by a Mooring that did not record it: `unmarked`.
    """

    storage: str  # of what is written now
    unmarked: str
    renews: Mapping[str, Callable[[Doc], None]]  # bring a document up to the schema of a version
    webhook: ConversionWebhook | None = None  # None: only apiVersion and schemas differ


NAME = Column("Name", format="name")
AGE = Column("Age")

Row = Callable[[Doc, str], list[Any]]
"""(document, now) -> the cells, one per column."""


def _nothing(*_: Any) -> None:
    return None


def _never(_: Doc) -> bool:
    return False


def _no_complaints(*_: Any) -> Iterable[FieldError]:
    return ()


def _no_warnings(*_: Any) -> Iterable[str]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Kind:
    """Compared by identity: there is one value per served kind and version."""

    # identity
    group: str
    version: str
    kind: str
    plural: str
    message: str  # its message in `apiserver.schema`, e.g. "core.v1.PersistentVolume"
    namespaced: bool
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = READ_WRITE
    singular_name: str = ""  # "": the kind in small letters
    list_name: str = ""  # the kind of its lists; "": `<kind>List`
    status: bool = False
    subresources: tuple[Subresource, ...] = ()
    table: str = ""  # the store's table, when shared with another kind (events)

    # printing
    columns: tuple[Column, ...] = (NAME, AGE)
    row: Row | None = None  # None: name and age
    list_row: Callable[[Sequence[Doc]], Row] | None = None  # of a list whose rows depend on others
    row_conditions: Callable[[Doc], list[Doc]] | None = None

    # writing
    defaults: Callable[[Doc], None] = _nothing
    prepare_create: Callable[[Doc, Context], None] = _nothing
    prepare_update: Callable[[Doc, Doc, Context], None] = _nothing
    prepare_status: Callable[[Doc, Doc, Context], None] = _nothing
    validate: Callable[[Doc], Iterable[FieldError]] = _no_complaints
    validate_update: Callable[[Doc, Doc], Iterable[FieldError]] = _no_complaints
    validate_status: Callable[[Doc, Doc], Iterable[FieldError]] = _no_complaints
    warnings: Callable[[Doc], Iterable[str]] = _no_warnings
    update_warnings: Callable[[Doc, Doc], Iterable[str]] | None = None  # None: as on create
    name_rule: Callable[[str], Iterable[str]] = dns_subdomain
    strategies: Mapping[str, SubresourceStrategy] = field(default_factory=dict)  # by subresource

    # selecting: further fields for fieldSelector, beyond metadata.name and metadata.namespace
    fields: Mapping[str, Callable[[Doc], str]] = field(default_factory=dict)

    # manners
    custom: bool = False  # served upstream from a CRD: stricter decode, no strategic patches
    generation: bool = False  # metadata.generation counts changes of anything but metadata/status
    update_needs_version: bool = False  # a PUT must carry resourceVersion
    update_creates: bool = False  # a PUT of what is absent creates it
    orphans_by_default: bool = False  # a DELETE that says nothing leaves dependents alone
    deletion_warning: str = ""  # for a DELETE that says nothing of dependents
    deleted_as_status: bool = False  # DELETE answers a Status, not the object
    status_keeps_metadata: bool = False  # a status write may not touch metadata
    grace: Callable[[Doc, int | None], int] | None = None  # graceful deletion, in seconds
    also_held: Callable[[Doc], bool] = _never  # by more than metadata.finalizers (Namespace)
    begin_deletion: Callable[[Doc], None] = _nothing  # mark the document as going (Namespace)

    judges_update_whole: bool = False  # of an update, `validate_update` says all there is to say

    # what a definition says (`apiserver/custom/`)
    structure: Structure | None = None  # instead of a message in `apiserver.schema`
    scale: ScalePaths | None = None
    renew: Callable[[Doc], None] | None = None  # bring a stored document up to today's schema
    stored_as: StoredAs | None = None
    deprecation: str = ""  # the warning that every request of this version is answered with
    terminating: bool = False  # the definition is being deleted: nothing is created any more

    # views: a kind that shows another kind's stored documents in other words (events)
    to_stored: Callable[[Doc], Doc] | None = None
    from_stored: Callable[[Doc], Doc] | None = None

    # what follows from the identity; every request asks for it
    api_version: str = field(init=False)
    resource: str = field(init=False)  # `storageclasses.storage.k8s.io`: how messages name it
    store_table: str = field(init=False)

    def __post_init__(self) -> None:
        in_group = f"{self.group}/" if self.group else ""
        known = {
            "api_version": f"{in_group}{self.version}",
            "resource": f"{self.plural}.{self.group}" if self.group else self.plural,
            "store_table": self.table or f"{in_group}{self.plural}",
        }
        for name, value in known.items():
            object.__setattr__(self, name, value)  # the Struct is frozen otherwise

    @property
    def singular(self) -> str:
        return self.singular_name or self.kind.lower()

    @property
    def list_kind(self) -> str:
        return self.list_name or f"{self.kind}List"
