"""Environment variables of containers: given, or read from elsewhere."""

from collections.abc import Iterable

from mooring.apiserver.kinds.data_keys import data_key
from mooring.apiserver.kinds.downward_api import (
    FOR_ENVIRONMENT,
    validate_field_ref,
    validate_resource_ref,
)
from mooring.apiserver.kinds.path_rules import validate_no_backsteps
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, invalid, required
from mooring.model.names import dns_label, dns_subdomain

_NAME_TEXT = (
    "a valid environment variable name must consist only of printable ASCII characters "
    "other than '='"
)
_ONE_AT_A_TIME = "may not have more than one field specified at a time"


def validate_env(variables: Iterable[Doc], path: str) -> Iterable[FieldError]:
    for index, variable in enumerate(variables):
        at = f"{path}[{index}]"
        name = variable.get("name", "")
        if not name:
            yield required(f"{at}.name")
        elif not _is_name(name):
            yield invalid(f"{at}.name", name, _NAME_TEXT)
        if (source := variable.get("valueFrom")) is not None:
            yield from _validate_source(source, f"{at}.valueFrom")
            yield from _validate_one_source(variable, f"{at}.valueFrom")


def validate_env_from(sources: Iterable[Doc], path: str) -> Iterable[FieldError]:
    for index, source in enumerate(sources):
        at = f"{path}[{index}]"
        if (prefix := source.get("prefix")) and not _is_name(prefix):
            yield invalid(f"{at}.prefix", prefix, _NAME_TEXT)
        given = [field for field in ("configMapRef", "secretRef") if field in source]
        for field in given:
            name = source[field].get("name", "")
            if not name:
                yield required(f"{at}.{field}.name")
            else:
                for problem in dns_subdomain(name):
                    yield invalid(f"{at}.{field}.name", name, problem)
        if not given:
            yield invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
        elif len(given) > 1:
            yield invalid(path, "", _ONE_AT_A_TIME)


def _is_name(name: str) -> bool:
    return name.isascii() and name.isprintable() and "=" not in name


def _validate_source(source: Doc, path: str) -> Iterable[FieldError]:
    if (reference := source.get("fieldRef")) is not None:
        yield from validate_field_ref(reference, f"{path}.fieldRef", FOR_ENVIRONMENT)
    if (reference := source.get("resourceFieldRef")) is not None:
        yield from validate_resource_ref(reference, f"{path}.resourceFieldRef")
    for field in ("configMapKeyRef", "secretKeyRef"):
        if (reference := source.get(field)) is not None:
            yield from _validate_key_ref(reference, f"{path}.{field}")
    if (reference := source.get("fileKeyRef")) is not None:
        yield from _validate_file_ref(reference, f"{path}.fileKeyRef")


def _validate_key_ref(reference: Doc, path: str) -> Iterable[FieldError]:
    name, key = reference.get("name", ""), reference.get("key", "")
    for problem in dns_subdomain(name):
        yield invalid(f"{path}.name", name, problem)
    if not key:
        yield required(f"{path}.key")
    else:
        for problem in data_key(key):
            yield invalid(f"{path}.key", key, problem)


def _validate_file_ref(reference: Doc, path: str) -> Iterable[FieldError]:
    for field in ("key", "volumeName", "path"):
        if not reference.get(field):
            yield required(f"{path}.{field}")
    if (key := reference.get("key")) and not _is_name(key):
        yield invalid(f"{path}.key", key, _NAME_TEXT)
    if volume := reference.get("volumeName"):
        for problem in dns_label(volume):
            yield invalid(f"{path}.volumeName", volume, problem)
    yield from validate_no_backsteps(reference.get("path", ""), f"{path}.path")


def _validate_one_source(variable: Doc, path: str) -> Iterable[FieldError]:
    given = len(variable["valueFrom"])
    if not given:
        yield invalid(
            path,
            "",
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, "
            "`secretKeyRef` or `fileKeyRef`",
        )
    elif variable.get("value"):
        yield invalid(path, "", "may not be specified when `value` is not empty")
    elif given > 1:
        yield invalid(path, "", _ONE_AT_A_TIME)
