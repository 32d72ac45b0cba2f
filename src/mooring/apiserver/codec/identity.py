"""Is a body what its URL says? Kind and apiVersion, and the words for a refusal."""

from typing import Any, NamedTuple

from mooring.apiserver.schema.parse import load
from mooring.errors import BadRequest
from mooring.model.document import Doc

_SHOWN = 30
_SHOWN_WHOLE = 1024
_SCHEME = "pkg/api/legacyscheme/scheme.go:30"


class Identity(NamedTuple):
    """The kind that a request is about."""

    kind: str
    api_version: str
    custom: bool

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]

    @property
    def version(self) -> str:
        return self.api_version.rpartition("/")[2]


def unrecognized(body: bytes, wanted: Identity, why: str) -> BadRequest:
    """For a body that cannot even say of what kind it is."""
    return BadRequest(
        "the object provided is unrecognized "
        f"(must be of type {wanted.kind}): {why} ({_summary(body)})"
    )


def not_handled(wanted: Identity, why: str) -> BadRequest:
    """For a body of the right kind that cannot be read as such."""
    return _mismatch(wanted.kind, wanted.version, wanted, why)


def check_identity(doc: Doc, wanted: Identity, body: bytes) -> Doc:
    """`doc` with its kind and apiVersion, which may be left to the URL unless the kind is custom.

    Raises: BadRequest when they are other ones.
    """
    kind, api_version = doc.get("kind"), doc.get("apiVersion")
    if kind == wanted.kind and api_version == wanted.api_version:
        return doc
    for name, value in (("apiVersion", api_version), ("kind", kind)):
        if not isinstance(value, str | None):
            raise unrecognized(body, wanted, _no_text(name, value))
    if api_version is not None and api_version.count("/") > 1:
        raise unrecognized(body, wanted, f"unexpected GroupVersion string: {api_version}")
    if wanted.custom:
        _check_custom(kind or "", api_version or "", wanted, body)
    kind, api_version = kind or wanted.kind, api_version or wanted.api_version
    if kind != wanted.kind or api_version != wanted.api_version:
        raise _another(kind, api_version, wanted)
    rest = {name: value for name, value in doc.items() if name not in ("apiVersion", "kind")}
    return {"apiVersion": api_version, "kind": kind, **rest}


def _check_custom(kind: str, api_version: str, wanted: Identity, body: bytes) -> None:
    if not kind:
        text = body[:_SHOWN_WHOLE].decode("utf-8", errors="replace")
        raise unrecognized(body, wanted, f"Object 'Kind' is missing in '{text}'")
    if api_version != wanted.api_version:
        raise BadRequest(
            f"the API version in the data ({api_version}) does not match "
            f"the expected API version ({wanted.api_version})"
        )


def _another(kind: str, api_version: str, wanted: Identity) -> BadRequest:
    group, _, version = api_version.rpartition("/")
    if f"{_package(group)}.{version}.{kind}" in load().messages:
        why = (
            f"converting ({version}.{kind}) to ({_package(wanted.group)}.{wanted.kind}): "
            "unknown conversion"
        )
    else:
        why = unregistered(kind, api_version)
    return _mismatch(kind, version, wanted, why)


def unregistered(kind: str, api_version: str) -> str:
    return f'no kind "{kind}" is registered for version "{api_version}" in scheme "{_SCHEME}"'


def _mismatch(kind: str, version: str, wanted: Identity, why: str) -> BadRequest:
    return BadRequest(f'{kind} in version "{version}" cannot be handled as a {wanted.kind}: {why}')


def _package(group: str) -> str:
    return group.partition(".")[0] or "core"


def _no_text(name: str, value: Any) -> str:
    match value:
        case bool():
            found = "bool"
        case int() | float():
            found = "number"
        case list():
            found = "array"
        case _:
            found = "object"
    return (
        f"couldn't get version/kind; json parse error: json: cannot unmarshal {found} "
        f"into Go struct field .{name} of type string"
    )


def _summary(body: bytes) -> str:
    if not body:
        return "<empty>"
    shown = body[:_SHOWN]
    text = shown.decode("utf-8", errors="replace") if shown[:1] == b"{" else shown.hex()
    return f"{text} ..." if len(body) > _SHOWN else text
