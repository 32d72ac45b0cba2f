"""The paths of a kind and what can be done there, in words that both OpenAPI versions share."""

from collections.abc import Iterator

import msgspec

from mooring.apiserver.kinds.contract import Kind, Subresource
from mooring.apiserver.kinds.subresources import answers_in, subresources
from mooring.apiserver.openapi.names import gvk, part_message
from mooring.apiserver.schema.contract import Schema
from mooring.model.document import Doc

DELETE_OPTIONS = "meta.v1.DeleteOptions"
STATUS = "meta.v1.Status"

_METHODS = {"get": "get", "create": "post", "update": "put", "patch": "patch", "delete": "delete"}
_WORDS = {"get": "read", "update": "replace"}
_RAW = frozenset({"log"})  # subresources that answer with bytes, not with a document


class Parameter(msgspec.Struct, frozen=True):
    """Something in the query."""

    name: str
    type: str
    description: str


PRETTY = Parameter("pretty", "string", "Indent the answer for people.")
_DRY_RUN = Parameter("dryRun", "string", "All: check everything, store nothing.")
_MANAGER = Parameter("fieldManager", "string", "Who is making this change.")
_VALIDATION = Parameter(
    "fieldValidation",
    "string",
    "What to do about unknown and duplicate fields: Ignore, Warn or Strict.",
)
_FORCE = Parameter("force", "boolean", "Apply only: take over fields that others own.")
_SELECT = (
    Parameter("continue", "string", "The token of the page before."),
    Parameter("fieldSelector", "string", "Only objects with these field values."),
    Parameter("labelSelector", "string", "Only objects with these labels."),
    Parameter("limit", "integer", "The most objects to answer in one page."),
    Parameter("resourceVersion", "string", "The version to read at, or to watch from."),
    Parameter("resourceVersionMatch", "string", "How to read resourceVersion."),
    Parameter("timeoutSeconds", "integer", "End the call after so many seconds."),
)
_WATCH = (
    Parameter("allowWatchBookmarks", "boolean", "Send bookmarks between the events."),
    Parameter("sendInitialEvents", "boolean", "Begin with the objects there are."),
    Parameter("watch", "boolean", "Follow changes instead of listing."),
)
_WRITE = (_DRY_RUN, _MANAGER, _VALIDATION)
_DELETE = (
    _DRY_RUN,
    Parameter("gracePeriodSeconds", "integer", "How long the object may take to end."),
    Parameter("orphanDependents", "boolean", "The old word for propagationPolicy=Orphan."),
    Parameter("propagationPolicy", "string", "Orphan, Background or Foreground."),
)

_PARAMETERS = {
    "list": (*_SELECT, *_WATCH),
    "deletecollection": (*_SELECT, *_DELETE),
    "create": _WRITE,
    "update": _WRITE,
    "patch": (*_WRITE, _FORCE),
    "delete": _DELETE,
    "get": (),
}


class Operation(msgspec.Struct, frozen=True):
    method: str
    action: str
    id: str
    kind: Doc  # group, version and kind
    parameters: tuple[Parameter, ...] = ()
    takes: str = ""  # the message of the body
    gives: str = ""  # the message of the answer
    gives_list_of: Kind | None = None  # the answer is a list instead

    @property
    def success(self) -> tuple[str, str]:
        return ("201", "Created") if self.method == "post" else ("200", "OK")


class PathItem(msgspec.Struct, frozen=True):
    path: str
    names: tuple[str, ...]  # of the parameters in the path
    operations: tuple[Operation, ...]


def paths(kind: Kind, schema: Schema) -> Iterator[PathItem]:
    """Every path of `kind`, in all its scopes. Paths without operations are left out."""
    root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    scope = "/namespaces/{namespace}" if kind.namespaced else ""
    outer = ("namespace",) if kind.namespaced else ()
    collection = f"{root}{scope}/{kind.plural}"
    found = [
        PathItem(collection, outer, tuple(_on_collection(kind))),
        PathItem(f"{collection}/{{name}}", ("name", *outer), tuple(_on_object(kind))),
    ]
    if kind.namespaced and "list" in kind.verbs:
        everywhere = _list(kind, f"list{_family(kind)}{kind.kind}ForAllNamespaces")
        found.append(PathItem(f"{root}/{kind.plural}", (), (everywhere,)))
    for part in subresources(kind):
        operations = tuple(_on_part(kind, part, schema))
        found.append(PathItem(f"{collection}/{{name}}/{part.name}", ("name", *outer), operations))
    return (item for item in found if item.operations)


def tag(kind: Kind) -> str:
    """`core_v1`: how generated clients bundle operations."""
    return f"{_short_group(kind) or 'core'}_{kind.version}".replace(".", "_")


def _on_collection(kind: Kind) -> Iterator[Operation]:
    as_kind = gvk(kind.group, kind.version, kind.kind)
    if "list" in kind.verbs:
        yield _list(kind, f"list{_family(kind)}{_scoped(kind)}")
    if "create" in kind.verbs:
        yield Operation(
            "post",
            "post",
            f"create{_family(kind)}{_scoped(kind)}",
            as_kind,
            _PARAMETERS["create"],
            takes=kind.message,
            gives=kind.message,
        )
    if "deletecollection" in kind.verbs:
        yield Operation(
            "delete",
            "deletecollection",
            f"delete{_family(kind)}Collection{_scoped(kind)}",
            as_kind,
            _PARAMETERS["deletecollection"],
            takes=DELETE_OPTIONS,
            gives_list_of=kind,
        )


def _list(kind: Kind, operation_id: str) -> Operation:
    return Operation(
        "get",
        "list",
        operation_id,
        gvk(kind.group, kind.version, kind.kind),
        _PARAMETERS["list"],
        gives_list_of=kind,
    )


def _on_object(kind: Kind) -> Iterator[Operation]:
    for verb in ("get", "update", "patch", "delete"):
        if verb in kind.verbs:
            bodies = {"update": kind.message, "delete": DELETE_OPTIONS}
            as_status = verb == "delete" and kind.deleted_as_status
            yield Operation(
                _METHODS[verb],
                _METHODS[verb],
                f"{_WORDS.get(verb, verb)}{_family(kind)}{_scoped(kind)}",
                gvk(kind.group, kind.version, kind.kind),
                _PARAMETERS[verb],
                takes=bodies.get(verb, ""),
                gives=STATUS if as_status else kind.message,
            )


def _on_part(kind: Kind, part: Subresource, schema: Schema) -> Iterator[Operation]:
    message = "" if part.name in _RAW else part_message(kind, part, schema)
    for verb in part.verbs:
        if verb in _METHODS:
            yield Operation(
                _METHODS[verb],
                _METHODS[verb],
                f"{_WORDS.get(verb, verb)}{_family(kind)}{_scoped(kind)}{_capital(part.name)}",
                gvk(*answers_in(kind, part), part.kind),
                _PARAMETERS[verb],
                takes=message if verb in ("create", "update") else "",
                gives=message,
            )


def _family(kind: Kind) -> str:
    words = (_short_group(kind) or "core").split(".")
    return "".join(map(_capital, words)) + _capital(kind.version)


def _short_group(kind: Kind) -> str:
    return kind.group.removesuffix(".k8s.io")


def _scoped(kind: Kind) -> str:
    return f"Namespaced{kind.kind}" if kind.namespaced else kind.kind


def _capital(word: str) -> str:
    return word[:1].upper() + word[1:]
