"""How the runtime is called, and what its complaints mean."""

from pathlib import Path

import pytest

from mooring.errors import HostError
from mooring.oci.contract import RuntimeRefused
from mooring.oci.runc import Runc, RuntimeProgram, refusal
from tests.fakes.programs import FakePrograms, programs  # noqa: F401  a fixture

COMPLAINTS = {
    "a program that is not in the path": (
        '{"level":"warning","msg":"careful"}\n'
        '{"level":"error","msg":"runc create failed: unable to start container process: '
        'exec: \\"x\\": executable file not found in $PATH","time":"2026"}\n',
        'exec: "x": executable file not found in $PATH',
        127,
    ),
    "a program that is not there": (
        '{"level":"error","msg":"runc create failed: unable to start container process: '
        'exec: \\"/x\\": stat /x: no such file or directory"}',
        'exec: "/x": stat /x: no such file or directory',
        127,
    ),
    "a program that may not be run": (
        '{"level":"error","msg":"exec failed: unable to start container process: '
        'exec: \\"/etc\\": permission denied"}',
        'exec: "/etc": permission denied',
        126,
    ),
    "a mount that fails": (
        '{"level":"error","msg":"runc create failed: unable to start container process: '
        'error during container init: error mounting \\"/a\\": no such file or directory"}',
        'error mounting "/a": no such file or directory',
        128,
    ),
    "plain words": ("something\nbroke\n", "something broke", 128),
    "nothing": ("", "the runtime gave no reason", 128),
}


@pytest.mark.parametrize(("complaint", "text", "code"), COMPLAINTS.values(), ids=COMPLAINTS)
def test_refusal(complaint: str, text: str, code: int) -> None:
    refused = refusal(complaint)
    assert (str(refused), refused.exit_code) == (text, code)


@pytest.fixture
def runc(programs: FakePrograms, tmp_path: Path) -> Runc:  # noqa: F811  the fixture
    program = RuntimeProgram(path=tmp_path / "programs/runc", conmon=Path("/bin/true"))
    return Runc(program, tmp_path / "state", at_once=2)


async def test_what_the_runtime_knows_of(programs: FakePrograms, runc: Runc) -> None:  # noqa: F811  the fixture
    programs.add("runc", """echo '[{"id":"a","status":"created","pid":7,"bundle":"/b"}]'""")
    listed = await runc.list()
    assert {id: (each.status, each.pid) for id, each in listed.items()} == {"a": ("created", 7)}
    programs.add("runc", "echo null")
    assert await runc.list() == {}
    programs.add("runc", "echo oops")
    with pytest.raises(HostError, match="printed no list"):
        await runc.list()


async def test_a_start_that_is_refused(programs: FakePrograms, runc: Runc) -> None:  # noqa: F811  the fixture
    programs.add("runc", """echo '{"level":"error","msg":"container is stopped"}' >&2; exit 1""")
    with pytest.raises(RuntimeRefused, match=r"^container is stopped$"):
        await runc.start("a")
    with pytest.raises(HostError, match="exit status 1"):
        await runc.delete("a")


async def test_its_state_is_in_our_directory(
    programs: FakePrograms,  # noqa: F811  the fixture
    runc: Runc,
    tmp_path: Path,
) -> None:
    programs.add("runc", "")
    await runc.delete("a")
    assert programs.runs() == [f"runc --root {tmp_path}/state --log-format json delete --force a"]
