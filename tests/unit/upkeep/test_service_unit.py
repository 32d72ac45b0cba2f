"""The text of the unit."""

import configparser
from pathlib import Path

import msgspec
import pytest

from mooring.errors import UsageError
from mooring.upkeep.service_unit import MARK, Service, quoted, quoted_word, unit_text

PLAIN = Service(("/v/bin/python", "-P", "-m", "mooring"), ("--data-dir=/d",), Path("/d"))
NAMESPACED = ("Private", "Protect", "ReadWrite", "ReadOnly", "Inaccessible", "Bind", "Temporary")
INHERITED = ("NoNewPrivileges", "Restrict", "Lock", "SystemCall", "Capability", "MemoryDeny")


def parsed(service: Service) -> configparser.ConfigParser:
    found = configparser.ConfigParser(interpolation=None, delimiters="=", strict=True)
    found.optionxform = str  # type: ignore[assignment,method-assign]  # keys keep their case
    found.read_string(unit_text(service))
    return found


def test_it_runs_this_installation_and_lets_containers_live() -> None:
    unit = parsed(PLAIN)
    service = unit["Service"]
    assert service["ExecStart"] == "/v/bin/python -P -m mooring up --data-dir=/d"
    assert (service["Type"], service["KillMode"]) == ("notify", "process")
    assert service["Restart"] == "on-failure"
    assert unit["Unit"]["RequiresMountsFor"] == "/d"
    assert unit["Install"]["WantedBy"] == "multi-user.target"
    assert unit_text(PLAIN).startswith(MARK)


def test_with_a_node_nothing_hides_mounts_or_binds_containers() -> None:
    keys = list(parsed(PLAIN)["Service"])
    assert [key for key in keys if key.startswith((*NAMESPACED, *INHERITED))] == []


def test_without_a_node_the_machine_is_protected_from_it() -> None:
    bare = msgspec.structs.replace(PLAIN, has_node=False, written=(Path("/etc/my conf"),))
    service = parsed(bare)["Service"]
    assert (service["ProtectSystem"], service["NoNewPrivileges"]) == ("full", "yes")
    assert service["ReadWritePaths"] == '-/d "-/etc/my conf"'


def test_of_a_user_it_waits_for_nothing_of_the_machine() -> None:
    unit = parsed(msgspec.structs.replace(PLAIN, is_of_user=True))
    assert list(unit["Unit"]) == ["Description"]
    assert unit["Install"]["WantedBy"] == "default.target"
    assert [key for key in unit["Service"] if key.startswith(NAMESPACED)] == []


WORDS = {
    "--port=7443": "--port=7443",
    "/my data": '"/my data"',
    "100%": "100%%",
    'a"b': '"a\\"b"',
    "a\\b": '"a\\\\b"',
    "a;b": '"a;b"',
    "": '""',
}


@pytest.mark.parametrize(("word", "shown"), WORDS.items())
def test_a_word_is_quoted_as_systemd_reads_it(word: str, shown: str) -> None:
    assert quoted(word) == shown


def test_variables_are_no_variables_in_a_command() -> None:
    assert quoted_word("$HOME") == "$$HOME"
    assert quoted("$HOME") == "$HOME"


def test_a_line_break_cannot_be_told() -> None:
    with pytest.raises(UsageError, match="cannot stand in a systemd unit"):
        unit_text(msgspec.structs.replace(PLAIN, flags=("--name=a\nExecStartPre=x",)))
