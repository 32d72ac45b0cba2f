"""The OpenAPI documents as they are served: made when first asked for, then kept as bytes.

A definition that comes, changes or goes makes anew what is of its group and version, nothing else.
"""

from collections.abc import Callable, Sequence
from functools import partial
from hashlib import blake2b
from typing import Generic, NamedTuple, TypeVar

import msgspec

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

_FORMAT = 1  # another one when custom kinds are described otherwise than before


class OpenApi:
    """Serves `/openapi/v2` and `/openapi/v3`.

    A group-version that cannot be described is missing from all of them; the others are there.
    """

    def __init__(self, kinds: Kinds, schema: Schema) -> None:
        self._kinds = kinds
        self._schema = schema
        self._documents: dict[str, _Kept[Published | None]] = {}
        self._parts: dict[str, _Kept[v2.SwaggerPart | None]] = {}
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
        if not kinds:
            return None
        return _kept(self._documents, name, kinds, lambda: self._make(name, kinds))

    def swagger(self, form: SwaggerForm) -> Published:
        """`/openapi/v2`."""
        return self._swagger.get(form, lambda: self._make_swagger(form))

    def _group_versions(self) -> dict[str, list[Kind]]:
        found: dict[str, list[Kind]] = {}
        for kind in self._kinds.all():
            found.setdefault(v3.document_name(kind.group, kind.version), []).append(kind)
        return found

    def _names(self, kinds: Sequence[Kind]) -> Names:
        """The names of all built-in kinds, and of these."""
        builtin = (kind for kind in self._kinds.all() if kind.structure is None)
        custom = (kind for kind in kinds if kind.structure is not None)
        return names((*builtin, *custom), self._schema)

    def _make_index(self) -> Published:
        digests: dict[str, str] = {}
        for name, kinds in self._group_versions().items():
            digest = _digest_of(kinds)
            if not digest and (made := self.group_version(name)):
                digest = made.digest
            if digest:
                digests[name] = digest
        return publish(v3.index(digests))

    def _make(self, name: str, kinds: Sequence[Kind]) -> Published | None:
        made = _unless_broken(name, partial(v3.document, kinds, self._schema, self._names(kinds)))
        if not made:
            return None
        page = publish(made)
        digest = _digest_of(kinds)
        return msgspec.structs.replace(page, digest=digest) if digest else page

    def _make_swagger(self, form: SwaggerForm) -> Published:
        groups = self._group_versions()
        for gone in self._parts.keys() - groups.keys():
            del self._parts[gone]
        parts = [
            _kept(self._parts, name, kinds, partial(self._part, name, kinds))
            for name, kinds in groups.items()
        ]
        document = v2.document(part for part in parts if part)
        match form:
            case SwaggerForm.JSON:
                return publish(document)
            case SwaggerForm.PROTOBUF:
                return publish_bytes(gnostic.encode(document), SWAGGER_PROTOBUF)

    def _part(self, name: str, kinds: Sequence[Kind]) -> v2.SwaggerPart | None:
        make = partial(v2.part, kinds, self._schema, self._names(kinds))
        return _unless_broken(name, make)


class _Kept(NamedTuple, Generic[Made]):
    kinds: tuple[Kind, ...]  # that it was made of
    made: Made


def _kept(
    known: dict[str, _Kept[Made]], name: str, kinds: Sequence[Kind], make: Callable[[], Made]
) -> Made:
    """What was made of these very kinds, made now if there is none."""
    found = known.get(name)
    if found is None or found.kinds != tuple(kinds):
        found = known[name] = _Kept(tuple(kinds), make())
    return found.made


def _digest_of(kinds: Sequence[Kind]) -> str:
    """Of a group-version with custom kinds: known before its document is made. Else empty."""
    if all(kind.structure is None for kind in kinds):
        return ""
    told = [(k.kind, k.structure.digest if k.structure else "") for k in kinds]
    return blake2b(msgspec.json.encode([_FORMAT, told]), digest_size=16).hexdigest().upper()


def _unless_broken(name: str, make: Callable[[], Made]) -> Made | None:
    try:
        return make()
    except UnknownMessage as broken:
        _log.warning("not described by OpenAPI", group_version=name, because=broken)
        return None
