"""Rules for names, label keys and label values; each returns what is wrong, empty when all is well.

The texts are wire literals. The two words for one limit are upstream's: names say `characters`,
label keys and values say `bytes`. Lengths are counted in UTF-8 bytes either way.
"""

import re
from collections.abc import Callable, Iterable

from mooring.model.field_error import FieldError, invalid, required, too_long

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_KEY_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_KEY_NAME})?"

_is_label = re.compile(_LABEL).fullmatch
_is_label_1035 = re.compile(_LABEL_1035).fullmatch
_is_subdomain = re.compile(_SUBDOMAIN).fullmatch
_is_key_name = re.compile(_KEY_NAME).fullmatch
_is_key = re.compile(f"({_SUBDOMAIN}/)?{_KEY_NAME}").fullmatch
_is_value = re.compile(_VALUE).fullmatch

_LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', "
    f"regex used for validation is '{_LABEL}')"
)
_LABEL_1035_TEXT = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    f"regex used for validation is '{_LABEL_1035}')"
)
_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', "
    f"regex used for validation is '{_SUBDOMAIN}')"
)
_CASELESS_SUBDOMAIN_TEXT = (
    "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'Example.com', "
    f"regex used for validation is '{_SUBDOMAIN}')"
)
_KEY_NAME_TEXT = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', "
    f"regex used for validation is '{_KEY_NAME}')"
)
_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
    f"'12345', regex used for validation is '{_VALUE}')"
)

_MOST_IN_LABEL = 63
_MOST_IN_SUBDOMAIN = 253
_MOST_IN_DRIVER_NAME = 63
_MOST_LOOKED_AT = 4096  # a longer name is invalid anyway, and costly to check


def dns_subdomain(name: str) -> Iterable[str]:
    """The name of nearly every object."""
    if len(name) <= _MOST_IN_SUBDOMAIN and _is_subdomain(name):
        return ()
    return _subdomain_problems(name, "characters")


def dns_label(name: str) -> Iterable[str]:
    """The name of a namespace, a container, a pod's volume."""
    if len(name) <= _MOST_IN_LABEL and _is_label(name):
        return ()
    problems = _longer_than(_MOST_IN_LABEL, name, "characters")
    name = _beginning(name)
    if not _is_label(name):
        problems.append("must not contain dots" if _is_subdomain(name) else _LABEL_TEXT)
    return problems


def dns_1035_label(name: str) -> Iterable[str]:
    """The names of a custom resource, and of its versions."""
    if len(name) <= _MOST_IN_LABEL and _is_label_1035(name):
        return ()
    problems = _longer_than(_MOST_IN_LABEL, name, "characters")
    if not _is_label_1035(_beginning(name)):
        problems.append(_LABEL_1035_TEXT)
    return problems


def _beginning(name: str) -> str:
    return name if len(name) <= _MOST_LOOKED_AT else name[: _MOST_LOOKED_AT - 1] + name[-1]


def path_segment(name: str) -> Iterable[str]:
    """The minimal rule for a name in a URL; the only one for core events."""
    if name in {".", ".."}:
        return (f"may not be '{name}'",)
    return [f"may not contain '{char}'" for char in "/%" if char in name]


def qualified_name(key: str) -> Iterable[str]:
    """`name` or `example.com/name`: label and annotation keys, finalizers, provisioners."""
    if len(key) <= _MOST_IN_LABEL and _is_key(key):
        return ()
    prefix, slash, name = key.partition("/")
    if "/" in name:
        return (
            f"a valid label key {_KEY_NAME_TEXT}"
            " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
        )
    problems: list[str] = []
    if not slash:
        name = prefix
    elif not prefix:
        problems.append("prefix part must be non-empty")
    elif not (len(prefix) <= _MOST_IN_SUBDOMAIN and _is_subdomain(prefix)):
        problems += (f"prefix part {text}" for text in _subdomain_problems(prefix, "bytes"))
    if not name:
        problems.append("name part must be non-empty")
    problems += (f"name part {text}" for text in _longer_than(_MOST_IN_LABEL, name, "bytes"))
    if not _is_key_name(_beginning(name)):
        problems.append(f"name part {_KEY_NAME_TEXT}")
    return problems


def label_value(value: str) -> Iterable[str]:
    if len(value) <= _MOST_IN_LABEL and _is_value(value):
        return ()
    problems = _longer_than(_MOST_IN_LABEL, value, "bytes")
    if not _is_value(_beginning(value)):
        problems.append(_VALUE_TEXT)
    return problems


def csi_driver_name(name: str) -> Iterable[str]:
    """A DNS subdomain in any case, short enough for a label value."""
    problems = _longer_than(_MOST_IN_DRIVER_NAME, name, "bytes")
    problems += dns_subdomain(name.lower())
    return problems


def caseless_subdomain(name: str) -> Iterable[str]:
    """The rule of `dns_subdomain` in the words for names that may have capital letters."""
    for problem in dns_subdomain(name):
        yield _CASELESS_SUBDOMAIN_TEXT if problem == _SUBDOMAIN_TEXT else problem


def csi_driver_name_errors(
    field: str, name: str, rule: Callable[[str], Iterable[str]] = dns_subdomain
) -> Iterable[FieldError]:
    """The same rule as errors of `field`; too long and missing have error types of their own."""
    if not name:
        yield required(field)
        return
    if _bytes_in(name) > _MOST_IN_DRIVER_NAME:
        yield too_long(field, _MOST_IN_DRIVER_NAME)
    for problem in rule(name.lower()):
        yield invalid(field, name, problem)


def _subdomain_problems(name: str, unit: str) -> list[str]:
    problems = _longer_than(_MOST_IN_SUBDOMAIN, name, unit)
    if not _is_subdomain(_beginning(name)):
        problems.append(_SUBDOMAIN_TEXT)
    return problems


def _longer_than(most: int, text: str, unit: str) -> list[str]:
    return [f"must be no more than {most} {unit}"] if _bytes_in(text) > most else []


def _bytes_in(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
