"""Secret: small confidential data."""

from base64 import b64decode, b64encode
from collections.abc import Iterable
from typing import Any

from mooring.apiserver.kinds.cells import age_of, name_of
from mooring.apiserver.kinds.contract import AGE, NAME, Column, Kind
from mooring.apiserver.kinds.data_keys import FROZEN, MOST_DATA_BYTES, data_key, decoded_size
from mooring.apiserver.kinds.immutability import validate_unchanged
from mooring.apiserver.kinds.selectable import text
from mooring.apiserver.schema.json_text import read_json
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, forbidden, invalid, required, too_long

_ACCOUNT_NAME = "kubernetes.io/service-account.name"
_REDACTED = "<secret contents redacted>"

# The keys a type must have, and the types whose one key holds a JSON object.
_KEYS_OF_TYPE = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
}
_JSON_TYPES = frozenset(("kubernetes.io/dockercfg", "kubernetes.io/dockerconfigjson"))


def _defaults(doc: Doc) -> None:
    if not doc.get("type"):
        doc["type"] = "Opaque"
    if "stringData" in doc:  # a convenience for writers; it is never shown to readers
        plain = doc.pop("stringData")
        if plain:
            doc.setdefault("data", {}).update(
                (key, b64encode(value.encode()).decode()) for key, value in plain.items()
            )


def _validate(doc: Doc) -> Iterable[FieldError]:
    data: dict[str, str] = doc.get("data") or {}
    size = 0
    for key, value in data.items():
        for problem in data_key(key):
            yield invalid(f"data[{key}]", key, problem)
        size += decoded_size(value)
    if size > MOST_DATA_BYTES:
        yield too_long("data", MOST_DATA_BYTES)
    if doc.get("type", "Opaque") != "Opaque":
        yield from _validate_type(doc["type"], data, doc)


def _validate_type(purpose: str, data: dict[str, str], doc: Doc) -> Iterable[FieldError]:
    for key in _KEYS_OF_TYPE.get(purpose, ()):
        if key not in data or (purpose.endswith("ssh-auth") and not data[key]):
            yield required(f"data[{key}]")
        elif purpose in _JSON_TYPES and (problem := _json_problem(data[key])):
            yield invalid(f"data[{key}]", _REDACTED, problem)
    if purpose == "kubernetes.io/basic-auth" and not data.keys() & {"username", "password"}:
        yield required("data[username]")
        yield required("data[password]")
    if purpose == "kubernetes.io/service-account-token":
        annotations = doc.get("metadata", {}).get("annotations", {})
        if not annotations.get(_ACCOUNT_NAME):
            yield required(f"metadata.annotations[{_ACCOUNT_NAME}]")


def _json_problem(base64_text: str) -> str:
    """Why this is no JSON object; empty when it is one."""
    try:
        value = read_json(b64decode(base64_text)).value
    except ValueError as error:
        return str(error)
    return "" if isinstance(value, dict) else "must hold a JSON object"


def _validate_update(new: Doc, old: Doc) -> Iterable[FieldError]:
    yield from validate_unchanged("type", new.get("type"), old.get("type"))
    if old.get("immutable"):
        if not new.get("immutable"):
            yield forbidden("immutable", FROZEN)
        if (new.get("data") or {}) != (old.get("data") or {}):
            yield forbidden("data", FROZEN)


def _row(doc: Doc, now: str) -> list[Any]:
    return [name_of(doc), doc.get("type", ""), len(doc.get("data") or ()), age_of(doc, now)]


SECRET = Kind(
    group="",
    version="v1",
    kind="Secret",
    plural="secrets",
    message="core.v1.Secret",
    namespaced=True,
    columns=(
        NAME,
        Column("Type", description="What the data is for."),
        Column("Data", description="How many entries there are."),
        AGE,
    ),
    row=_row,
    defaults=_defaults,
    validate=_validate,
    validate_update=_validate_update,
    fields={"type": text("type")},
    deleted_as_status=True,
)
