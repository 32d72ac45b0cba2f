"""Volumes made of files that the API server knows: secrets, config maps, the pod's own fields."""

from collections.abc import Iterable

from mooring.apiserver.kinds.downward_api import (
    FOR_FILES,
    validate_field_ref,
    validate_file_resource_ref,
)
from mooring.apiserver.kinds.label_selector import validate_label_selector
from mooring.apiserver.kinds.path_rules import validate_file_path
from mooring.apiserver.kinds.signers import bundle_name_problems, signer_in, validate_signer_name
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, forbidden, invalid, not_supported, required

_MOST_MODE = 0o777
_MODE_TEXT = "must be a number between 0 and 0777 (octal), both inclusive"
_LEAST_TOKEN_SECONDS = 600
_MOST_TOKEN_SECONDS = 2**32
_KEY_TYPES = ("RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519")
_CERTIFICATE_PATHS = ("credentialBundlePath", "keyPath", "certificateChainPath")


def validate_secret(source: Doc, path: str) -> Iterable[FieldError]:
    if not source.get("secretName"):
        yield required(f"{path}.secretName")
    yield from _validate_mode(source, "defaultMode", path)
    yield from _validate_items(source, path)


def validate_config_map(source: Doc, path: str) -> Iterable[FieldError]:
    if not source.get("name"):
        yield required(f"{path}.name")
    yield from _validate_mode(source, "defaultMode", path)
    yield from _validate_items(source, path)


def validate_downward_api(source: Doc, path: str) -> Iterable[FieldError]:
    yield from _validate_mode(source, "defaultMode", path)
    for item in source.get("items", ()):
        yield from _validate_downward_file(item, path)


def validate_projected(source: Doc, path: str) -> Iterable[FieldError]:
    """Complaints about several sources that share one directory."""
    yield from _validate_mode(source, "defaultMode", path)
    taken: set[str] = set()
    for index, projection in enumerate(source.get("sources", ())):
        at = f"{path}.sources[{index}]"
        for name in projection:
            yield from _PROJECTIONS[name](projection[name], f"{at}.{name}", path)
        yield from _validate_paths_free(projection, path, taken)
        if len(projection) > 1:
            yield forbidden(at, "may not specify more than 1 volume type per source")


def _validate_mode(holder: Doc, field: str, path: str) -> Iterable[FieldError]:
    mode = holder.get(field)
    if mode is not None and not 0 <= mode <= _MOST_MODE:
        yield invalid(f"{path}.{field}", mode, _MODE_TEXT)


def _validate_items(source: Doc, path: str) -> Iterable[FieldError]:
    for index, item in enumerate(source.get("items", ())):
        at = f"{path}.items[{index}]"
        for field in ("key", "path"):
            if not item.get(field):
                yield required(f"{at}.{field}")
        yield from validate_file_path(item.get("path", ""), f"{at}.path")
        yield from _validate_mode(item, "mode", at)


def _validate_downward_file(item: Doc, path: str) -> Iterable[FieldError]:
    if not item.get("path"):
        yield required(f"{path}.path")
    yield from validate_file_path(item.get("path", ""), f"{path}.path")
    field, resource = item.get("fieldRef"), item.get("resourceFieldRef")
    if field is not None:
        yield from validate_field_ref(field, f"{path}.fieldRef", FOR_FILES)
        if resource is not None:
            yield invalid(
                path,
                "resource",
                "fieldRef and resourceFieldRef can not be specified simultaneously",
            )
    elif resource is not None:
        yield from validate_file_resource_ref(resource, f"{path}.resourceFieldRef")
    else:
        yield required(path, "one of fieldRef and resourceFieldRef is required")
    yield from _validate_mode(item, "mode", path)


def _validate_named(projection: Doc, path: str, _: str) -> Iterable[FieldError]:
    """A secret or a config map inside a projected volume."""
    if not projection.get("name"):
        yield required(f"{path}.name")
    yield from _validate_items(projection, path)


def _validate_downward(projection: Doc, path: str, _: str) -> Iterable[FieldError]:
    for item in projection.get("items", ()):
        yield from _validate_downward_file(item, path)


def _validate_token(projection: Doc, path: str, volume_path: str) -> Iterable[FieldError]:
    field, seconds = f"{path}.expirationSeconds", projection.get("expirationSeconds", 0)
    if seconds < _LEAST_TOKEN_SECONDS:
        yield invalid(field, seconds, "may not specify a duration less than 10 minutes")
    if seconds > _MOST_TOKEN_SECONDS:
        yield invalid(field, seconds, "may not specify a duration larger than 2^32 seconds")
    # Reported at the volume's path, not at the source's, as upstream does.
    if not projection.get("path"):
        yield required(f"{volume_path}.path")
    yield from validate_file_path(projection.get("path", ""), f"{volume_path}.path")


def _validate_trust_bundle(projection: Doc, path: str, _: str) -> Iterable[FieldError]:
    match projection:
        case {"name": _, "signerName": _}:
            yield invalid(path, projection, "only one of name and signerName may be used")
        case {"name": name}:
            yield from _validate_bundle_name(name, f"{path}.name")
            if (selector := projection.get("labelSelector")) is not None:
                text = "labelSelector must be unset if name is specified"
                yield invalid(f"{path}.labelSelector", selector, text)
        case {"signerName": signer}:
            if not signer:
                yield required(f"{path}.signerName", "must be a valid signer name")
            yield from validate_signer_name(signer, f"{path}.signerName")
            selector = projection.get("labelSelector") or {}
            yield from validate_label_selector(selector, f"{path}.labelSelector")
        case _:
            yield required(path, "either name or signerName must be specified")
    if not projection.get("path"):
        yield required(f"{path}.path")
    yield from validate_file_path(projection.get("path", ""), f"{path}.path")


def _validate_bundle_name(name: str, path: str) -> Iterable[FieldError]:
    if not name:
        yield required(path, "must be a valid object name")
    for problem in bundle_name_problems(name, signer_in(name)):
        yield invalid(path, name, f"not a valid clustertrustbundlename: {problem}")


def _validate_certificate(projection: Doc, path: str, _: str) -> Iterable[FieldError]:
    if not projection.get("signerName"):
        yield required(f"{path}.signerName")
    if (key_type := projection.get("keyType", "")) not in _KEY_TYPES:
        yield not_supported(f"{path}.keyType", key_type, _KEY_TYPES)
    given = [field for field in _CERTIFICATE_PATHS if projection.get(field)]
    for field in given:
        yield from validate_file_path(projection[field], f"{path}.{field}")
    if not given:
        yield required(
            path,
            "specify at least one of credentialBundlePath, keyPath, and certificateChainPath",
        )


_PROJECTIONS = {
    "secret": _validate_named,
    "configMap": _validate_named,
    "downwardAPI": _validate_downward,
    "serviceAccountToken": _validate_token,
    "clusterTrustBundle": _validate_trust_bundle,
    "podCertificate": _validate_certificate,
}


def _validate_paths_free(projection: Doc, path: str, taken: set[str]) -> Iterable[FieldError]:
    """No two sources may write the same file; tokens were never checked for it."""
    for name, given in projection.items():
        for file in _files_of(name, given):
            if file in taken:
                shown = given.get("name", "") if name in ("secret", "configMap") else file
                yield invalid(path, shown, "conflicting duplicate paths")
            taken.add(file)


def _files_of(name: str, given: Doc) -> Iterable[str]:
    match name:
        case "secret" | "configMap" | "downwardAPI":
            return [item["path"] for item in given.get("items", ()) if item.get("path")]
        case "clusterTrustBundle":
            return [given.get("path", "")]
        case "podCertificate":
            return [given[field] for field in _CERTIFICATE_PATHS if given.get(field)]
        case _:
            return ()
