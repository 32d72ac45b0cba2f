"""Which runtime works here."""

import pytest

from mooring.oci import probe as probing
from mooring.oci.probe import NoRuntime, probe
from mooring.oci.runc import RuntimeProgram
from tests.fakes.programs import FakePrograms, programs  # noqa: F401  a fixture

REFUSES = """case "$*" in *create*)
echo '{"level":"error","msg":"runc create failed: %s"}' >&2; exit 1;; esac"""
FEATURES = """case "$*" in features) echo '{"mountOptions":["ro","rro"]}';; esac"""


@pytest.fixture
def tools(programs: FakePrograms, monkeypatch: pytest.MonkeyPatch) -> FakePrograms:  # noqa: F811  the fixture
    """A machine without any runtime."""
    programs.only_these()
    monkeypatch.setattr(probing, "CONMON_ELSEWHERE", ())
    return programs


async def test_without_a_shim_the_remedy_is_told(tools: FakePrograms) -> None:
    tools.add("runc", "")
    assert await probe() == NoRuntime(
        "containers cannot run: there is no conmon; "
        "install runc and conmon: apt-get install runc conmon"
    )


async def test_without_a_runtime_the_remedy_is_told(tools: FakePrograms) -> None:
    tools.add("conmon", "echo conmon version 2.1.6")
    assert await probe() == NoRuntime(
        "containers cannot run: there is no runc or crun; "
        "install runc and conmon: apt-get install runc conmon"
    )


async def test_the_first_that_works_is_taken(tools: FakePrograms) -> None:
    tools.add("conmon", "echo conmon version 2.1.6")
    tools.add("runc", REFUSES % "no")
    tools.add("crun", FEATURES)
    found = await probe()
    assert isinstance(found, RuntimeProgram)
    assert found.name == "crun"
    assert found.has_recursive_read_only
    assert sum("delete --force" in run for run in tools.runs()) == 2


async def test_an_older_one_knows_no_features(tools: FakePrograms) -> None:
    tools.add("conmon", "echo conmon version 2.1.6")
    tools.add("runc", """case "$*" in features) exit 1;; esac""")
    found = await probe()
    assert isinstance(found, RuntimeProgram)
    assert not found.has_recursive_read_only


SAYS = {
    "by its features": (
        """case "$*" in features) echo '{"linux":{"seccomp":{"enabled":true}}}';; esac""",
        True,
    ),
    "that it was built without": (
        """case "$*" in features) echo '{"linux":{"seccomp":{"enabled":false}}}';; esac""",
        False,
    ),
    "an older one by its version": (
        """case "$*" in features) exit 1;; --version) echo runc; echo libseccomp: 2.5;; esac""",
        True,
    ),
    "an older crun by its version": (
        """case "$*" in features) exit 1;; --version) echo +SELINUX +SECCOMP;; esac""",
        True,
    ),
    "an older one without": (
        """case "$*" in features) exit 1;; --version) echo runc version 1.0;; esac""",
        False,
    ),
}


@pytest.mark.parametrize(("script", "has_seccomp"), SAYS.values(), ids=SAYS)
async def test_whether_it_filters_system_calls(
    tools: FakePrograms,
    script: str,
    has_seccomp: bool,  # noqa: FBT001  a column
) -> None:
    tools.add("conmon", "echo conmon version 2.1.6")
    tools.add("runc", script)
    found = await probe()
    assert isinstance(found, RuntimeProgram)
    assert found.has_seccomp is has_seccomp


@pytest.mark.parametrize(("uid", "remedy"), [(0, ""), (1000, "; run mooring as root")])
async def test_when_none_works_each_is_told_with_its_reason(
    tools: FakePrograms, monkeypatch: pytest.MonkeyPatch, uid: int, remedy: str
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: uid)
    tools.add("conmon", "echo conmon version 2.1.6")
    tools.add("runc", REFUSES % "not permitted")
    tools.add("crun", REFUSES % "cgroups in hybrid mode not supported")
    assert await probe() == NoRuntime(
        "containers cannot run: runc: not permitted; crun: cgroups in hybrid mode not supported"
        + remedy
    )


async def test_a_shim_that_is_too_old_is_told(tools: FakePrograms) -> None:
    tools.add("conmon", "echo conmon version 2.0.25")
    tools.add("runc", "")
    assert await probe() == NoRuntime(
        "containers cannot run: conmon 2.0 is too old; install 2.1 or newer"
    )
