"""Name rules: what is refused, in which words, and that good names pass."""

from collections.abc import Callable, Iterable

import pytest

from mooring.model import names
from mooring.model.field_error import invalid, required, too_long

LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', "
    "regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    r"for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
KEY = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
    "or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)

Rule = Callable[[str], Iterable[str]]

CASES: dict[str, tuple[Rule, str, list[str]]] = {
    "subdomain: dotted labels are fine": (names.dns_subdomain, "a.b-c.0", []),
    "subdomain: 253 characters are fine": (names.dns_subdomain, "a" * 253, []),
    "subdomain: 254 characters are too many": (
        names.dns_subdomain,
        "a" * 254,
        ["must be no more than 253 characters"],
    ),
    "subdomain: upper case": (names.dns_subdomain, "A", [SUBDOMAIN]),
    "subdomain: empty": (names.dns_subdomain, "", [SUBDOMAIN]),
    "subdomain: empty part": (names.dns_subdomain, "a..b", [SUBDOMAIN]),
    "subdomain: ends with a dash": (names.dns_subdomain, "a-", [SUBDOMAIN]),
    "subdomain: a newline at the end does not slip through": (
        names.dns_subdomain,
        "a\n",
        [SUBDOMAIN],
    ),
    "subdomain: too long and malformed are two complaints": (
        names.dns_subdomain,
        "A" * 254,
        ["must be no more than 253 characters", SUBDOMAIN],
    ),
    "subdomain: length counts bytes": (
        names.dns_subdomain,
        "é" * 127,
        ["must be no more than 253 characters", SUBDOMAIN],
    ),
    "label: letters, digits, dashes are fine": (names.dns_label, "kube-system-0", []),
    "label: 64 characters are too many": (
        names.dns_label,
        "a" * 64,
        ["must be no more than 63 characters"],
    ),
    "label: dots have their own word": (names.dns_label, "a.b", ["must not contain dots"]),
    "label: underscore": (names.dns_label, "a_b", [LABEL]),
    "segment: anything without slash and percent": (names.path_segment, "Web.17a~é", []),
    "segment: dot": (names.path_segment, ".", ["may not be '.'"]),
    "segment: two dots": (names.path_segment, "..", ["may not be '..'"]),
    "segment: three dots are fine": (names.path_segment, "...", []),
    "segment: slash and percent": (
        names.path_segment,
        "%/",
        ["may not contain '/'", "may not contain '%'"],
    ),
    "key: without prefix": (names.qualified_name, "My_Name.1", []),
    "key: with prefix": (names.qualified_name, "pv.kubernetes.io/bind-completed", []),
    "key: each part may be as long as allowed": (
        names.qualified_name,
        "a" * 253 + "/" + "B" * 63,
        [],
    ),
    "key: empty": (
        names.qualified_name,
        "",
        ["name part must be non-empty", f"name part {KEY}"],
    ),
    "key: empty prefix": (names.qualified_name, "/a", ["prefix part must be non-empty"]),
    "key: name missing after the prefix": (
        names.qualified_name,
        "a/",
        ["name part must be non-empty", f"name part {KEY}"],
    ),
    "key: upper case prefix": (names.qualified_name, "A/b", [f"prefix part {SUBDOMAIN}"]),
    "key: long prefix": (
        names.qualified_name,
        "a" * 254 + "/b",
        ["prefix part must be no more than 253 bytes"],
    ),
    "key: long name": (
        names.qualified_name,
        "a" * 64,
        ["name part must be no more than 63 bytes"],
    ),
    "key: two slashes": (
        names.qualified_name,
        "a/b/c",
        [
            f"a valid label key {KEY} with an optional DNS subdomain prefix and '/' "
            "(e.g. 'example.com/MyName')"
        ],
    ),
    "value: empty is fine": (names.label_value, "", []),
    "value: mixed case is fine": (names.label_value, "My_value.1", []),
    "value: long": (names.label_value, "a" * 64, ["must be no more than 63 bytes"]),
    "value: space": (names.label_value, "a b", [VALUE]),
    "driver: case does not matter": (names.csi_driver_name, "CSI.Example.com", []),
    "driver: long": (names.csi_driver_name, "a" * 64, ["must be no more than 63 bytes"]),
    "driver: underscore": (names.csi_driver_name, "a_b", [SUBDOMAIN]),
}


@pytest.mark.parametrize(("rule", "name", "problems"), CASES.values(), ids=CASES)
def test_rule(rule: Rule, name: str, problems: list[str]) -> None:
    assert list(rule(name)) == problems


DRIVERS = {
    "a missing driver is required": ("", [required("spec.driver")]),
    "a long driver is too long, not invalid": ("a" * 64, [too_long("spec.driver", 63)]),
    "a malformed driver shows as it was written": (
        "A_b",
        [invalid("spec.driver", "A_b", SUBDOMAIN)],
    ),
    "a good driver is no error": ("ebs.csi.example.com", []),
}


@pytest.mark.parametrize(("name", "errors"), DRIVERS.values(), ids=DRIVERS)
def test_driver_name_errors(name: str, errors: list[object]) -> None:
    assert list(names.csi_driver_name_errors("spec.driver", name)) == errors


def test_of_a_name_of_megabytes_no_more_than_the_beginning_is_looked_at() -> None:
    name = "a" * 5000 + "?" * 1_000_000 + "a"
    for rule in (names.dns_subdomain, names.dns_label, names.qualified_name, names.label_value):
        (problem,) = rule(name)
        assert "must be no more than" in problem
