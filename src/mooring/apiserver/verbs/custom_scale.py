"""The scale of a custom object, whose definition says where its numbers are."""

from typing import Any

from mooring.apiserver.custom.paths import find, put
from mooring.apiserver.kinds.contract import Kind, ScalePaths
from mooring.apiserver.request.refusals import unknown_resource
from mooring.apiserver.verbs.before_write import check_version
from mooring.apiserver.verbs.scale import JSON_PATCH, MERGE_PATCH, scale_document, scale_verbs
from mooring.errors import BadRequest, ServerError, UnsupportedMedia
from mooring.model.document import Doc


class _Custom:
    merges: tuple[str, ...] = (MERGE_PATCH,)

    def unsupported(self) -> UnsupportedMedia:
        return UnsupportedMedia(
            "the body of the request was in an unknown format - "
            f"accepted media types include: {JSON_PATCH}, {MERGE_PATCH}"
        )

    def scale_of(self, kind: Kind, doc: Doc) -> Doc:
        """Raises: ServerError when the object does not say how many replicas it wants."""
        paths = _paths(kind)
        replicas = find(doc, paths.replicas)
        if not isinstance(replicas, int):
            raise ServerError(f'the spec replicas field "{_dotted(paths.replicas)}" does not exist')
        running: Any = find(doc, paths.status_replicas)
        selector: Any = find(doc, paths.selector) if paths.selector else ""
        return scale_document(
            doc,
            replicas,
            running if type(running) is int else 0,
            selector if isinstance(selector, str) else "",
        )

    def before(self, kind: Kind, doc: Doc) -> Doc:
        return doc if _is_set(kind, doc) else self.scaled(kind, doc, 0)

    def check(self, kind: Kind, old: Doc, scale: Doc) -> None:
        if not _is_set(kind, old) and "replicas" not in scale.get("spec", {}):
            path = _dotted(_paths(kind).replicas)
            raise BadRequest(f'the spec replicas field "{path}" cannot be empty')
        if version := scale.get("metadata", {}).get("resourceVersion"):
            check_version(kind, old, {"metadata": {"resourceVersion": version}}, is_put=False)

    def scaled(self, kind: Kind, old: Doc, replicas: int) -> Doc:
        new = {**old, "metadata": dict(old["metadata"])}
        put(new, _paths(kind).replicas, replicas)
        return new


def _paths(kind: Kind) -> ScalePaths:
    if kind.scale is None:
        raise unknown_resource()
    return kind.scale


def _is_set(kind: Kind, doc: Doc) -> bool:
    return isinstance(find(doc, _paths(kind).replicas), int)


def _dotted(names: tuple[str, ...]) -> str:
    return "." + ".".join(names)


ON_CUSTOM_SCALE = scale_verbs(_Custom())
