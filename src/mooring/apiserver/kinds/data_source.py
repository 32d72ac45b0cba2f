"""What a claim starts out filled with: `dataSource`, and its successor `dataSourceRef`.

The older field knows claims and snapshots only and ignores anything else; the newer one takes any
kind. Clients set either, so the server keeps the two alike. A reference into another namespace is
dropped unless the feature gate CrossNamespaceVolumeDataSource is on.
"""

from collections.abc import Iterable

from mooring.model.document import Doc
from mooring.model.field_error import FieldError, invalid, required
from mooring.model.names import dns_label, dns_subdomain

_CLAIM = "PersistentVolumeClaim"
_SERVED = frozenset((("", _CLAIM), ("snapshot.storage.k8s.io", "VolumeSnapshot")))
_LOCAL_FIELDS = ("apiGroup", "kind", "name")


def settle_data_sources(
    spec: Doc, old: Doc | None = None, *, cross_namespace: bool = False
) -> None:
    """Drop what is not served and copy one field to the other; `old` is the claim's stored spec."""
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is None and reference is None:
        return
    is_foreign = bool(reference and reference.get("namespace")) and not cross_namespace
    if is_foreign and not (old and old.get("dataSourceRef")):
        del spec["dataSourceRef"]
        reference = None
    had_source = old is not None and ("dataSource" in old or "dataSourceRef" in old)
    if source is not None and reference is None and not had_source and not _is_served(source):
        del spec["dataSource"]
        source = None
    if source is not None and reference is None:
        spec["dataSourceRef"] = _local(source)
    elif reference is not None and source is None and not reference.get("namespace"):
        spec["dataSource"] = _local(reference)


def _is_served(source: Doc) -> bool:
    return (source.get("apiGroup") or "", source.get("kind", "")) in _SERVED


def _local(reference: Doc) -> Doc:
    return {field: reference[field] for field in _LOCAL_FIELDS if field in reference}


def validate_data_sources(spec: Doc, path: str) -> Iterable[FieldError]:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None:
        yield from _validate_reference(source, f"{path}.dataSource")
    if reference is None:
        return
    yield from _validate_reference(reference, f"{path}.dataSourceRef")
    if namespace := reference.get("namespace"):
        for problem in dns_label(namespace):
            yield invalid(f"{path}.dataSourceRef.namespace", namespace, problem)
        if source is not None:
            yield invalid(
                path, {}, "may not be specified when dataSourceRef.namespace is specified"
            )
    elif source is not None and any(
        source.get(field) != reference.get(field) for field in _LOCAL_FIELDS
    ):
        yield invalid(path, {}, "must match dataSourceRef")


def _validate_reference(reference: Doc, path: str) -> Iterable[FieldError]:
    for field in ("name", "kind"):
        if not reference.get(field):
            yield required(f"{path}.{field}")
    kind = reference.get("kind", "")
    if group := reference.get("apiGroup"):
        for problem in dns_subdomain(group):
            yield invalid(f"{path}.apiGroup", group, problem)
    elif kind != _CLAIM:
        yield invalid(
            path, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        )
