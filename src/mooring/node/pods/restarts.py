"""Whether a container that has ended is started again, and when. Pure."""

from mooring.model.container import Container
from mooring.model.pod import Pod
from mooring.node.pods.plan import Pause

FIRST_SECONDS = 10.0
MOST_SECONDS = 300.0
FORGIVEN_SECONDS = 600.0  # after a run of this length an end costs nothing


def policy(pod: Pod, container: Container) -> str:
    """Its own, or else the pod's."""
    return container.restart_policy or pod.spec.restart_policy


def shall_restart(pod: Pod, container: Container, exit_code: int) -> bool:
    """Of a regular container or sidecar that has ended."""
    if _is_told_to_restart(container, exit_code):
        return True
    match policy(pod, container):
        case "Never":
            return False
        case "OnFailure":
            return exit_code != 0
        case _:
            return True


def shall_retry(pod: Pod, container: Container, exit_code: int | None = None) -> bool:
    """Of an init container that has failed, or a container that a probe has given up, which has
    no exit code yet."""
    if exit_code is not None and _is_told_to_restart(container, exit_code):
        return True
    return policy(pod, container) != "Never"


def _is_told_to_restart(container: Container, exit_code: int) -> bool:
    """By a rule of its own, which wins over any policy."""
    for rule in container.restart_policy_rules:
        codes = rule.exit_codes
        if rule.action != "Restart" or codes is None:
            continue
        is_listed = exit_code in codes.values
        if is_listed if codes.operator == "In" else codes.operator == "NotIn" and not is_listed:
            return True
    return False


def find_wait(pause: Pause | None, ended_at: float, now: float) -> float | None:
    """Until when a container that has ended has to wait; None when it may start now."""
    if pause is None or ended_at - pause.since > FORGIVEN_SECONDS:
        return None
    until = ended_at + pause.seconds
    return until if now < until else None


def next_pause(pause: Pause | None, ended_at: float, now: float) -> Pause:
    """What a restart now makes of the pause."""
    if pause is None or ended_at - pause.since > FORGIVEN_SECONDS:
        return Pause(FIRST_SECONDS, now)
    return Pause(min(pause.seconds * 2, MOST_SECONDS), now)
