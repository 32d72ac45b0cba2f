"""Rules of a container on when it is started again, whatever its policy says."""

import pytest

from mooring.model.container import Container, ExitCodes, RestartRule
from mooring.node.pods.restarts import shall_restart, shall_retry
from tests.unit.node.pods.things import a_pod


def ruled(operator: str, *codes: int, action: str = "Restart") -> Container:
    rule = RestartRule(action, ExitCodes(operator, codes))
    return Container("main", restart_policy="Never", restart_policy_rules=(rule,))


CASES = {
    "a code that is listed": (ruled("In", 42, 43), 42, True),
    "one that is not": (ruled("In", 42, 43), 1, False),
    "one that is not, of those that are excepted": (ruled("NotIn", 42), 1, True),
    "one that is excepted": (ruled("NotIn", 42), 42, False),
    "another action": (ruled("In", 42, action="RestartAllContainers"), 42, False),
    "an operator nobody knows": (ruled("Odd", 42), 42, False),
    "no rules": (Container("main", restart_policy="Never"), 42, False),
}


@pytest.mark.parametrize(("container", "code", "expected"), CASES.values(), ids=CASES)
def test_restart_rules(container: Container, code: int, expected: bool) -> None:  # noqa: FBT001  a column
    pod = a_pod(container, restart_policy="Never")
    assert shall_restart(pod, container, code) is expected
    assert shall_retry(pod, container, code) is expected


def test_what_a_probe_gave_up_has_no_code_yet() -> None:
    assert not shall_retry(a_pod(), ruled("In", 42))
