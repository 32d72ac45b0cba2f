"""From a stored definition to the kinds that are served for it."""

from collections.abc import Callable
from functools import partial

import msgspec

from mooring.apiserver.custom.columns import columns_of
from mooring.apiserver.custom.conversion import renewing, stored_as
from mooring.apiserver.custom.finalizers import finalizer_warnings
from mooring.apiserver.custom.paths import names_of, text_at
from mooring.apiserver.custom.structure import VersionStructure
from mooring.apiserver.kinds.contract import Kind, ScalePaths, StoredAs, Subresource
from mooring.apiserver.kinds.custom_rules import drop_status
from mooring.apiserver.kinds.registry import is_higher
from mooring.apiserver.kinds.separation import keep_all_but_status, keep_status
from mooring.model.document import Doc

VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_SCALE_VERBS = ("get", "patch", "update")

_decode = msgspec.json.Decoder().decode


class DefinedKinds(msgspec.Struct, frozen=True):
    served: tuple[Kind, ...]
    stored: Kind  # of the version that objects are stored in, be it served or not


def kinds_of(definition: Doc, raw: bytes, digest: str = "") -> DefinedKinds:
    """The kinds of a definition with accepted names; `raw` is the JSON it is stored as.

    `digest` is of all that they follow from.

    Before: one version of it is the storage version.
    """
    versions = definition["spec"]["versions"]
    structures = [
        VersionStructure(partial(_schema, raw, index), _scale(version), digest)
        for index, version in enumerate(versions)
    ]
    at = next(index for index, version in enumerate(versions) if version["storage"])
    renews = {v["name"]: s.renew for v, s in zip(versions, structures, strict=True)}
    stored = stored_as(definition, renews)
    kinds = [
        _kind(definition, version, structure, stored)
        for version, structure in zip(versions, structures, strict=True)
    ]
    served = tuple(k for k, version in zip(kinds, versions, strict=True) if version["served"])
    return DefinedKinds(served, kinds[at])


def _schema(raw: bytes, index: int) -> Doc:
    schema: Doc = _decode(raw)["spec"]["versions"][index]["schema"]["openAPIV3Schema"]
    return schema


def _kind(definition: Doc, version: Doc, structure: VersionStructure, stored: StoredAs) -> Kind:
    spec, names = definition["spec"], definition["status"]["acceptedNames"]
    group, scale = spec["group"], _scale(version)
    has_status = "status" in (version.get("subresources") or {})
    columns, row = columns_of(version.get("additionalPrinterColumns") or ())
    parts = (Subresource("scale", _SCALE_VERBS, "Scale", "autoscaling", "v1"),) if scale else ()
    return Kind(
        group=group,
        version=version["name"],
        kind=names["kind"],
        plural=names["plural"],
        message=f"{group}/{version['name']}.{names['kind']}",
        namespaced=spec["scope"] == "Namespaced",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        verbs=VERBS,
        singular_name=names.get("singular", ""),
        list_name=names.get("listKind", ""),
        status=has_status,
        subresources=parts,
        columns=columns,
        row=row,
        defaults=structure.fill,
        prepare_create=drop_status if has_status else _as_it_is,
        prepare_update=keep_status if has_status else _as_it_is,
        prepare_status=keep_all_but_status,
        validate=structure.judge_new,
        validate_update=structure.judge_update,
        validate_status=structure.judge_status,
        warnings=finalizer_warnings,
        update_warnings=structure.warnings,
        fields=_fields(version),
        custom=True,
        generation=True,
        update_needs_version=True,
        deleted_as_status=True,
        status_keeps_metadata=True,
        judges_update_whole=True,
        structure=structure,
        scale=scale,
        renew=renewing(stored, f"{group}/{version['name']}"),
        stored_as=stored,
        deprecation=_deprecation(definition, version),
        terminating="deletionTimestamp" in definition["metadata"],
    )


def _as_it_is(*_: object) -> None:
    """Without a status subresource, status is a field like any other."""


def _scale(version: Doc) -> ScalePaths | None:
    scale = (version.get("subresources") or {}).get("scale")
    if scale is None:
        return None
    selector = scale.get("labelSelectorPath") or ""
    return ScalePaths(
        names_of(scale["specReplicasPath"]),
        names_of(scale["statusReplicasPath"]),
        names_of(selector) if selector else (),
    )


def _fields(version: Doc) -> dict[str, Callable[[Doc], str]]:
    paths = (field["jsonPath"] for field in version.get("selectableFields") or ())
    return {path.removeprefix("."): text_at(names_of(path)) for path in paths}


def _deprecation(definition: Doc, version: Doc) -> str:
    """The warning for users of a deprecated version; empty for the others."""
    if not version.get("deprecated"):
        return ""
    if said := version.get("deprecationWarning"):
        return str(said)
    group, kind = definition["spec"]["group"], definition["spec"]["names"]["kind"]
    text = f"{group}/{version['name']} {kind} is deprecated"
    better = [
        other["name"]
        for other in definition["spec"]["versions"]
        if other["served"]
        and not other.get("deprecated")
        and is_higher(other["name"], than=version["name"])
    ]
    if not better:
        return text
    best = better[0]
    for name in better[1:]:
        best = name if is_higher(name, than=best) else best
    return f"{text}; use {group}/{best} {kind}"
