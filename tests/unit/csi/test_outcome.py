"""What a code means, RPC by RPC: the table, and the same over a socket."""

from typing import Any

import pytest

from mooring.csi.channel import Connection
from mooring.csi.outcome import TABLES, Code, Outcome, Refused, Uncertain, judge
from mooring.csi.secrets import NO_SECRETS
from tests.fakes.csi_calls import EVERY_CALL
from tests.fakes.csi_driver import Fails, FakeCsiDriver

FAILURES = frozenset(Code) - {Code.OK}
LOST = {Code.CANCELLED, Code.DEADLINE_EXCEEDED, Code.UNAVAILABLE}
BUSY = LOST | {Code.ABORTED}
FULL = BUSY | {Code.RESOURCE_EXHAUSTED}
PLAIN_NO = {
    Code.INVALID_ARGUMENT,
    Code.PERMISSION_DENIED,
    Code.UNIMPLEMENTED,
    Code.UNAUTHENTICATED,
}

UNCERTAIN: dict[str, frozenset[Code] | set[Code]] = {
    "GetPluginInfo": FULL,
    "GetPluginCapabilities": FULL,
    "Probe": FULL,
    "CreateVolume": BUSY,  # here a full backend is a final answer: the scheduler looks elsewhere
    "DeleteVolume": FAILURES - PLAIN_NO - {Code.FAILED_PRECONDITION},
    "ControllerPublishVolume": FULL,
    "ControllerUnpublishVolume": FAILURES - PLAIN_NO,
    "ValidateVolumeCapabilities": FULL,
    "ListVolumes": LOST | {Code.RESOURCE_EXHAUSTED},  # ABORTED: the token is bad
    "GetCapacity": FULL,
    "ControllerGetCapabilities": FULL,
    "ControllerGetVolume": FULL,
    "ControllerExpandVolume": FULL,
    "ControllerModifyVolume": FULL,
    "CreateSnapshot": FULL,
    "DeleteSnapshot": FAILURES - PLAIN_NO - {Code.FAILED_PRECONDITION},
    "ListSnapshots": LOST | {Code.RESOURCE_EXHAUSTED},
    "GetSnapshot": FULL,
    "GroupControllerGetCapabilities": FULL,
    "CreateVolumeGroupSnapshot": FULL,
    "DeleteVolumeGroupSnapshot": FAILURES - PLAIN_NO - {Code.FAILED_PRECONDITION},
    "GetVolumeGroupSnapshot": FULL,
    "ControllerListVolumeHealth": LOST | {Code.RESOURCE_EXHAUSTED},
    "ControllerGetVolumeHealth": FULL,
    "GetMetadataAllocated": FULL,
    "GetMetadataDelta": FULL,
    "NodeGetVolumeHealth": FULL,
    "NodeGetStorageHealth": FULL,
    "NodeStageVolume": FULL,
    "NodeUnstageVolume": FAILURES - PLAIN_NO,
    "NodePublishVolume": FULL,
    "NodeUnpublishVolume": FAILURES - PLAIN_NO,
    "NodeGetVolumeStats": FULL,
    "NodeExpandVolume": FULL,
    "NodeGetCapabilities": FULL,
    "NodeGetInfo": FULL,
}


def test_every_rpc_has_a_row_for_every_failure() -> None:
    assert [rpc for rpc, table in TABLES.items() if set(table) != FAILURES] == []
    assert set(TABLES) == set(EVERY_CALL) | {"GetInfo", "NotifyRegistrationStatus"}


def test_every_row_cites_its_rule() -> None:
    sources = {row.because.split()[0] for table in TABLES.values() for row in table.values()}
    assert {source.rstrip(",:") for source in sources} == {"spec", "upstream", "transport"}


@pytest.mark.parametrize("rpc", UNCERTAIN)
async def test_each_code_over_the_socket(
    rpc: str, driver: FakeCsiDriver, connection: Connection
) -> None:
    seen: dict[Code, Outcome[Any]] = {}
    for code in FAILURES:
        driver.next(rpc, Fails(code, f"because {code.name}"))
        seen[code] = await EVERY_CALL[rpc](connection, NO_SECRETS, 5)
    assert seen == {
        code: (Uncertain if code in UNCERTAIN[rpc] else Refused)(code, f"because {code.name}")
        for code in FAILURES
    }


def test_a_failure_reads_as_in_kubernetes() -> None:
    failure = judge(TABLES["Probe"], Code.FAILED_PRECONDITION, "no disk")
    assert failure.text == "rpc error: code = FailedPrecondition desc = no disk"
    assert Uncertain(None, "no id").text == "no id"


def test_codes_are_spelled_as_kubernetes_does() -> None:
    assert [code.label for code in Code] == [
        "OK",
        "Canceled",
        "Unknown",
        "InvalidArgument",
        "DeadlineExceeded",
        "NotFound",
        "AlreadyExists",
        "PermissionDenied",
        "ResourceExhausted",
        "FailedPrecondition",
        "Aborted",
        "OutOfRange",
        "Unimplemented",
        "Internal",
        "Unavailable",
        "DataLoss",
        "Unauthenticated",
    ]
