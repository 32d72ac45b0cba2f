"""The default filter of system calls."""

from typing import Any

import pytest

from mooring.oci import seccomp, seccomp_calls
from mooring.oci.contract import RuntimeRefused


def allowed(doc: dict[str, Any]) -> set[str]:
    """What may be called whatever its arguments."""
    return {
        name
        for rule in doc["syscalls"]
        if rule["action"] == "SCMP_ACT_ALLOW" and "args" not in rule
        for name in rule["names"]
    }


def rules_of(doc: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [rule for rule in doc["syscalls"] if name in rule["names"]]


def test_what_is_not_allowed_is_refused() -> None:
    doc = seccomp.default((), "x86_64")
    assert doc["defaultAction"] == "SCMP_ACT_ERRNO"
    assert doc["architectures"] == ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"]


DANGEROUS = (
    *("mount", "umount2", "pivot_root", "unshare", "setns", "bpf", "perf_event_open", "keyctl"),
    *("add_key", "request_key", "kexec_load", "init_module", "delete_module", "reboot", "swapon"),
    *("userfaultfd", "io_uring_setup", "io_uring_enter", "open_by_handle_at", "syslog", "iopl"),
    *("settimeofday", "clock_settime", "acct", "quotactl", "move_pages", "sethostname", "clone3"),
)


@pytest.mark.parametrize("name", DANGEROUS)
def test_a_container_of_no_rights_may_not(name: str) -> None:
    for machine in seccomp_calls.ARCHITECTURES:
        assert name not in allowed(seccomp.default((), machine))


@pytest.mark.parametrize(
    ("capability", "name"),
    [
        (capability, name)
        for capability, names in seccomp_calls.WITH_CAPABILITY.items()
        for name in names
    ],
)
def test_a_capability_opens_what_it_is_for(capability: str, name: str) -> None:
    assert name in allowed(seccomp.default((capability,), "x86_64"))
    assert name not in allowed(seccomp.default((), "x86_64"))


def test_processes_may_be_cloned_but_not_into_namespaces() -> None:
    doc = seccomp.default(("CAP_CHOWN",), "x86_64")
    (clone,) = rules_of(doc, "clone")
    (argument,) = clone["args"]
    assert (argument["op"], argument["valueTwo"]) == ("SCMP_CMP_MASKED_EQ", 0)
    for flag in (0x20000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000):
        assert argument["value"] & flag
    (clone3,) = rules_of(doc, "clone3")
    assert (clone3["action"], clone3["errnoRet"]) == ("SCMP_ACT_ERRNO", 38)
    (free,) = rules_of(seccomp.default(("CAP_SYS_ADMIN",), "x86_64"), "clone")
    assert "args" not in free


@pytest.mark.parametrize(
    ("family", "is_allowed"),
    [(1, True), (2, True), (10, True), (16, True), (38, False), (40, False)],
)
def test_families_of_sockets(family: int, is_allowed: bool) -> None:  # noqa: FBT001  a column
    compare = {
        "SCMP_CMP_LT": lambda value: family < value,
        "SCMP_CMP_EQ": lambda value: family == value,
        "SCMP_CMP_GT": lambda value: family > value,
    }
    rules = rules_of(seccomp.default((), "x86_64"), "socket")
    conditions = [argument for rule in rules for argument in rule["args"]]
    assert any(compare[each["op"]](each["value"]) for each in conditions) is is_allowed


def test_a_machine_of_another_kind_is_told() -> None:
    with pytest.raises(RuntimeRefused, match="there is no default seccomp profile for mips64"):
        seccomp.default((), "mips64")


def test_no_call_is_listed_twice() -> None:
    groups = (
        *(seccomp_calls.FILES, seccomp_calls.WAITING, seccomp_calls.MEMORY, seccomp_calls.TIME),
        *(seccomp_calls.PROCESSES, seccomp_calls.RIGHTS, seccomp_calls.SOCKETS),
        seccomp_calls.BETWEEN_PROCESSES,
    )
    listed = [name for group in groups for name in group]
    assert len(listed) == len(set(listed)) == len(seccomp_calls.ALWAYS)
