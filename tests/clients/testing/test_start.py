"""What a first cluster imports before it answers: nearly all of its time goes there.

Wall time is measured by `make bench BENCH=testing`; here it is counted, in a fresh interpreter.
"""

import json
import subprocess
import sys

import pytest

SECONDS = 60.0
MOST_MODULES = 1000  # of which 240 are the interpreter's own; a kind is one
OTHERS_CODE = {  # of other projects; each has a reason to be there before the first answer
    "cryptography",  # the keys of the server and of its clients
    "httptools",
    "jwt",  # tokens of service accounts
    "msgspec",
    "prometheus_client",
    "re2",
    "sortedcontainers",
    "typing_extensions",
    "uvloop",
    "yaml",  # kubeconfigs
}
UNUSED = (  # parts of Mooring that a server alone has no use for
    *("cli", "controllers", "dashboard", "scheduling", "sidecars", "top", "why"),
    *("driver.role", "node.role", "testing.fake_driver", "testing.fake_node"),
)
PROGRAM = """
import json, sys
import mooring.testing
imported = sorted(sys.modules)
from mooring.testing import Cluster
with Cluster(controllers=False) as c:
    c.get("namespace/default")
    print(json.dumps([imported, sorted(sys.modules)]))
"""


@pytest.fixture(scope="module")
def modules() -> tuple[list[str], list[str]]:
    """With the package imported; with a server that has answered."""
    done = subprocess.run(  # noqa: S603  our own program
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=SECONDS, check=True
    )
    imported, answered = json.loads(done.stdout)
    return imported, answered


def test_importing_the_package_imports_nothing_that_runs(
    modules: tuple[list[str], list[str]],
) -> None:
    imported, _ = modules
    ours = {name for name in imported if name.split(".")[0] == "mooring"}
    assert ours == {"mooring", "mooring.testing"}
    assert "asyncio" not in imported


def test_a_server_that_answers_has_imported_what_it_needs(
    modules: tuple[list[str], list[str]],
) -> None:
    _, answered = modules
    unused = [f"mooring.{part}" for part in UNUSED if f"mooring.{part}" in answered]
    assert unused == []
    assert len(answered) <= MOST_MODULES


def test_no_other_project_is_imported_beyond_those_that_it_needs(
    modules: tuple[list[str], list[str]],
) -> None:
    _, answered = modules
    packages = {name.split(".")[0] for name in answered} - sys.stdlib_module_names
    others = {name for name in packages if not name.startswith("_")}
    assert others - {"mooring", "cython_runtime"} <= OTHERS_CODE
