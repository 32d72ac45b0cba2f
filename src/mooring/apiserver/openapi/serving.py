"""The OpenAPI documents as they are served: made when first asked for, then kept as bytes."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from mooring import log
from mooring.apiserver.documents.published import Published, Shelf, publish, publish_bytes
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.kinds.registry import Kinds
from mooring.apiserver.openapi import gnostic, v2, v3
from mooring.apiserver.openapi.definitions import UnknownMessage
from mooring.apiserver.openapi.names import Names, names
from mooring.apiserver.request.negotiation import SWAGGER_PROTOBUF, SwaggerForm
from mooring.apiserver.schema.contract import Schema

_log = log.get("mooring.apiserver.openapi")

Made = TypeVar("Made")


class OpenApi:
    """Serves `/openapi/v2` and `/openapi/v3`.

    A group-version that cannot be described is missing from all of them; the others are there.
    """

    def __init__(self, kinds: Kinds, schema: Schema) -> None:
        self._kinds = kinds
        self._schema = schema
        self._documents: Shelf[str, Published | None] = Shelf(kinds)
        self._index: Shelf[None, Published] = Shelf(kinds)
        self._swagger: Shelf[SwaggerForm, Published] = Shelf(kinds)

    def index(self) -> Published:
        """`/openapi/v3`."""
        return self._index.get(None, self._make_index)

    def group_version(self, name: str) -> Published | None:
        """`/openapi/v3/<name>`, such as `api/v1`. None: there is no such group-version.

        The index refers to it with `?hash=<digest>`, so that clients may cache it for ever.
        """
        kinds = self._group_versions().get(name)
        return self._documents.get(name, lambda: self._make(name, kinds)) if kinds else None

    def swagger(self, form: SwaggerForm) -> Published:
        """`/openapi/v2`."""
        return self._swagger.get(form, lambda: self._make_swagger(form))

    def _group_versions(self) -> dict[str, list[Kind]]:
        found: dict[str, list[Kind]] = {}
        for kind in self._kinds.all():
            found.setdefault(v3.document_name(kind.group, kind.version), []).append(kind)
        return found

    def _names(self) -> Names:
        return names(self._kinds.all(), self._schema)

    def _make_index(self) -> Published:
        documents = {name: self.group_version(name) for name in self._group_versions()}
        return publish(v3.index({name: made.digest for name, made in documents.items() if made}))

    def _make(self, name: str, kinds: Sequence[Kind]) -> Published | None:
        made = _unless_broken(name, partial(v3.document, kinds, self._schema, self._names()))
        return publish(made) if made else None

    def _make_swagger(self, form: SwaggerForm) -> Published:
        known = self._names()
        parts = [
            _unless_broken(name, partial(v2.part, kinds, self._schema, known))
            for name, kinds in self._group_versions().items()
        ]
        document = v2.document(part for part in parts if part)
        match form:
            case SwaggerForm.JSON:
                return publish(document)
            case SwaggerForm.PROTOBUF:
                return publish_bytes(gnostic.encode(document), SWAGGER_PROTOBUF)


def _unless_broken(name: str, make: Callable[[], Made]) -> Made | None:
    try:
        return make()
    except UnknownMessage as broken:
        _log.warning("not described by OpenAPI", group_version=name, because=broken)
        return None
