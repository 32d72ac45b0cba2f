"""Who owns which fields after a write, in every version that owners have written."""

from collections.abc import Callable
from typing import TypeVar

from mooring.apiserver.documents.document import encode
from mooring.apiserver.kinds.contract import Kind, StoredAs
from mooring.apiserver.patching.managed_fields import after_update
from mooring.apiserver.patching.shape import Shape
from mooring.apiserver.patching.versions import Unconverted, Versions
from mooring.apiserver.verbs.backend import Backend, Call
from mooring.apiserver.verbs.document_schema import shape_for
from mooring.errors import InternalError
from mooring.model.document import Doc

T = TypeVar("T")
MOST_CONVERTED = 64  # documents for one write: a few for each version that has owners


def owners_after(
    backend: Backend,
    call: Call,
    old: Doc | None,
    new: Doc,
    *,
    manager: str,
    now: str,
    versions: Versions | None = None,
) -> list[Doc]:
    """The managedFields after this write: of what the client said, and what its silence means.

    What the server itself decides about an object, when it is prepared and admitted, has no owner.
    Raises: Unconverted, with `versions`.
    """
    return after_update(
        old,
        new,
        manager=manager,
        api_version=call.kind.api_version,
        now=now,
        subresource=call.route.subresource,
        shape=shape_for(backend, call.kind),
        versions=versions,
    )


def is_converted(kind: Kind) -> bool:
    """Whether fields may have other names in other versions."""
    return kind.stored_as is not None and kind.stored_as.webhook is not None


async def in_versions(backend: Backend, kind: Kind, decide: Callable[[Versions | None], T]) -> T:
    """What `decide` says, which is pure, once it has all the versions of documents that it needs.

    Waits only if a conversion webhook has to be asked.
    """
    stored = kind.stored_as
    if stored is None or not is_converted(kind):
        return decide(None)
    versions = _Versions(backend, kind, stored)
    for _ in range(MOST_CONVERTED):
        try:
            return decide(versions)
        except Unconverted as missing:
            await versions.convert(missing.doc, missing.api_version)
    raise InternalError("the owners of fields are of too many versions")


class _Versions:
    """Implements `patching.versions.Versions`: what has been converted for one write."""

    def __init__(self, backend: Backend, kind: Kind, stored: StoredAs) -> None:
        self._backend = backend
        self._kind = kind
        self._stored = stored
        self._known: dict[tuple[bytes, str], Doc] = {}

    def exists(self, api_version: str) -> bool:
        return api_version in self._stored.renews

    def shape(self, api_version: str) -> Shape | None:
        kind = self._find(api_version)
        return None if kind is None else shape_for(self._backend, kind)

    def seen(self, doc: Doc, api_version: str) -> Doc:
        if doc["apiVersion"] == api_version:
            return doc
        known = self._known.get((encode(doc), api_version))
        if known is None:
            raise Unconverted(doc, api_version)
        return known

    async def convert(self, doc: Doc, api_version: str) -> None:
        kind = self._find(api_version)
        if kind is not None:
            found = await self._backend.conversions.between((doc,), kind)
            self._known[encode(doc), api_version] = found[0]

    def _find(self, api_version: str) -> Kind | None:
        if api_version == self._kind.api_version:
            return self._kind
        group, _, version = api_version.rpartition("/")
        return self._backend.kinds.find(group, version, self._kind.plural)
