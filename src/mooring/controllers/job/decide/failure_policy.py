"""What the failure of a pod means for its job: the first rule of its policy that matches."""

from collections.abc import Iterable

import msgspec

from mooring.model.container_status import ContainerStatus
from mooring.model.job import ExitCodes, FailurePolicy, FailureRule
from mooring.model.pod import Pod


class Meaning(msgspec.Struct, frozen=True):
    counts: bool = True  # against the back-off limit
    action: str = ""  # "": no rule matched
    message: str = ""  # why the job fails; "": it does not


def meaning_of(policy: FailurePolicy | None, pod: Pod) -> Meaning:
    for index, rule in enumerate(policy.rules if policy is not None else ()):
        if (why := _matched(rule, pod)) is not None:
            if rule.action == "FailJob":
                told = f"{why} matching {rule.action} rule at index {index}"
                return Meaning(action=rule.action, message=told)
            return Meaning(counts=rule.action != "Ignore", action=rule.action)
    return Meaning()


def _matched(rule: FailureRule, pod: Pod) -> str | None:
    if rule.on_exit_codes is not None:
        found = _find_exit(rule.on_exit_codes, pod)
        if found is None or found.state.terminated is None:
            return None
        code = found.state.terminated.exit_code
        return f"Container {found.name} for pod {pod.key} failed with exit code {code}"
    patterns = {(pattern.type, pattern.status) for pattern in rule.on_pod_conditions}
    for condition in pod.status.conditions:
        if (condition.type, condition.status) in patterns:
            return f"Pod {pod.key} has condition {condition.type}"
    return None


def _find_exit(wanted: ExitCodes, pod: Pod) -> ContainerStatus | None:
    for statuses in (pod.status.container_statuses, pod.status.init_container_statuses):
        if (found := _find_in(wanted, statuses)) is not None:
            return found
    return None


def _find_in(wanted: ExitCodes, statuses: Iterable[ContainerStatus]) -> ContainerStatus | None:
    for status in statuses:
        ended = status.state.terminated
        if ended is None or ended.exit_code == 0:
            continue
        if wanted.container_name not in (None, status.name):
            continue
        if (ended.exit_code in wanted.values) is (wanted.operator == "In"):
            return status
    return None
