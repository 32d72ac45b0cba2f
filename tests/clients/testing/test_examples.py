"""The examples of `examples/testing`, run as their reader would: copied, by their own pytest."""

import shutil
from pathlib import Path

import pytest

pytest_plugins = ("pytester",)
pytestmark = pytest.mark.timeout(300)

EXAMPLES = Path(__file__).parents[3] / "examples" / "testing"


def test_operators_and_clients_are_tested(pytester: pytest.Pytester) -> None:
    for path in EXAMPLES.glob("*.py"):
        shutil.copy(path, pytester.path)
    ran = pytester.runpytest_subprocess("--mooring", "-p", "no:cacheprovider")
    assert ran.ret == 0, ran.stdout.str()
    ran.assert_outcomes(passed=4)
