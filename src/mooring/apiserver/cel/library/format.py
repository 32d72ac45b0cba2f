"""Named formats: `!format.dns1123Label().validate(self).hasValue()`."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from mooring.apiserver.cel import call_cost
from mooring.apiserver.cel.documents import read_bytes, read_date, read_date_time
from mooring.apiserver.cel.errors import CelError
from mooring.apiserver.cel.functions import Functions, Overload
from mooring.apiserver.cel.library.url import parse_url
from mooring.apiserver.cel.types import STRING, list_of, opaque, optional_of
from mooring.apiserver.cel.values import NONE, Opaque, Optional
from mooring.model import names

FORMAT = opaque("kubernetes.NamedFormat")
_MOST_LABEL = 63
_label_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?", re.ASCII).fullmatch
_uuid = re.compile(
    r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.ASCII | re.IGNORECASE
).fullmatch
_date = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII).fullmatch
_LABEL_1035_TEXT = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)


@dataclass(frozen=True, slots=True)
class FormatValue(Opaque):
    kind: ClassVar[str] = FORMAT.name
    name: str


def _label_1035_problems(text: str) -> Iterable[str]:
    if len(text.encode(errors="replace")) > _MOST_LABEL:
        yield f"must be no more than {_MOST_LABEL} characters"
    if not _label_1035(text[: 4 * _MOST_LABEL]):
        yield _LABEL_1035_TEXT


def _prefix(check: Callable[[str], Iterable[str]]) -> Callable[[str], Iterable[str]]:
    """A prefix of a name may end with a dash: more follows."""
    return lambda text: check(text[:-1] + "a" if len(text) > 1 and text[-1] == "-" else text)


def _uri(text: str) -> Iterable[str]:
    try:
        parse_url(text)
    except CelError as error:
        yield str(error)


def _when(fits: Callable[[str], Any], problem: str) -> Callable[[str], Iterable[str]]:
    return lambda text: () if fits(text) else (problem,)


def _reads(read: Callable[[Any], Any], text: str) -> bool:
    return not isinstance(read(text), str)


# Name -> the check, and the length of pattern that its cost is counted by.
_FORMATS: dict[str, tuple[Callable[[str], Iterable[str]], int]] = {
    "dns1123Label": (names.dns_label, 30),
    "dns1123Subdomain": (names.dns_subdomain, 60),
    "dns1035Label": (_label_1035_problems, 30),
    "qualifiedName": (names.qualified_name, 60),
    "dns1123LabelPrefix": (_prefix(names.dns_label), 30),
    "dns1123SubdomainPrefix": (_prefix(names.dns_subdomain), 60),
    "dns1035LabelPrefix": (_prefix(_label_1035_problems), 30),
    "labelValue": (names.label_value, 40),
    "uri": (_uri, 1121),
    "uuid": (_when(_uuid, "does not match the UUID format"), 83),
    "byte": (_when(lambda text: _reads(read_bytes, text), "invalid base64"), 84),
    "date": (
        _when(lambda text: _date(text) and _reads(read_date, text), "invalid date"),
        121,
    ),
    "datetime": (_when(lambda text: _reads(read_date_time, text), "invalid datetime"), 121),
}


def _named(name: str) -> Optional:
    return Optional(FormatValue(name)) if name in _FORMATS else NONE


def _validate(one: FormatValue, text: str) -> Optional:
    check, _ = _FORMATS[one.name]
    problems = list(check(text))
    return Optional(problems) if problems else NONE


def _validate_cost(one: FormatValue, text: str) -> int:
    return call_cost.tenth(1 + len(text)) * -(-_FORMATS[one.name][1] // 4)


def _constant(name: str) -> tuple[Overload, ...]:
    value = FormatValue(name)
    return (Overload(f"format.{name}", (), FORMAT, lambda: value),)


FUNCTIONS: Functions = {
    **{f"format.{name}": _constant(name) for name in _FORMATS},
    "format.named": (Overload("format-named", (STRING,), optional_of(FORMAT), _named),),
    "validate": (
        Overload(
            "format-validate",
            (FORMAT, STRING),
            optional_of(list_of(STRING)),
            _validate,
            member=True,
            cost=_validate_cost,
        ),
    ),
}
