"""`/healthz`, `/livez` and `/readyz`: named checks, in the words that probes match on."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from mooring import log

Check = Callable[[], str | None]
"""Says what is wrong, or None. Called on the event loop, so it must not wait."""

IsReady = Callable[[], bool]
"""Whether a role is ready. Must not wait either."""

Told = Callable[[], str]
"""The state of a role, public; empty when there is none to report. Must not wait either."""

NOT_READY_YET = "not ready yet"
NOT_FOUND = (404, "404 page not found\n")

_log = log.get("mooring.apiserver.health")


def _always() -> bool:
    return True


class _Role(msgspec.Struct, frozen=True):
    told: Told
    is_ready: IsReady


class Health:
    """Answers health requests. A server that is not alive is not ready either."""

    def __init__(self, live: Mapping[str, Check], ready: Mapping[str, Check]) -> None:
        alive = {"ping": _ping, **live}
        self._endpoints = {"healthz": alive, "livez": alive, "readyz": {**alive, **ready}}
        self._roles: dict[str, _Role] = {}

    def add_role(self, name: str, told: Told = str, is_ready: IsReady = _always) -> None:
        """Add a role in the same process; `told` does not affect the server's readiness."""
        self._roles[name] = _Role(told, is_ready)

    def add_check(self, name: str, check: Check) -> None:
        """Add one more to what a ready server passes."""
        self._endpoints["readyz"][name] = check

    def answer(self, path: str, query: Mapping[str, Sequence[str]]) -> tuple[int, str]:
        """The code and text for `/readyz`, `/readyz/<check>` and the like."""
        endpoint, _, name = path.strip("/").partition("/")
        checks = self._endpoints.get(endpoint)
        if checks is None:
            return NOT_FOUND
        roles = self._roles if endpoint == "readyz" else {}
        if not name:
            return _all(endpoint, checks, query, roles)
        if name in roles:
            return _one(lambda: None if roles[name].is_ready() else NOT_READY_YET)
        return _one(checks[name]) if name in checks else NOT_FOUND


def _one(check: Check) -> tuple[int, str]:
    wrong = check()
    return (500, f"internal server error: {wrong}\n") if wrong else (200, "ok")


def _all(
    endpoint: str,
    checks: Mapping[str, Check],
    query: Mapping[str, Sequence[str]],
    roles: Mapping[str, _Role],
) -> tuple[int, str]:
    excluded = set(query.get("exclude", ()))
    lines = []
    failed = False
    for name, check in checks.items():
        if name in excluded:
            lines.append(f"[+]{name} excluded: ok\n")
        elif wrong := check():
            # Anyone may read this, so the reason goes to the log alone.
            _log.warning("health check failed", endpoint=endpoint, check=name, because=wrong)
            lines.append(f"[-]{name} failed: reason withheld\n")
            failed = True
        else:
            lines.append(f"[+]{name} ok\n")
    for name, role in roles.items():
        if name in excluded:
            lines.append(f"[+]{name} excluded: ok\n")
        elif not role.is_ready():
            lines.append(f"[-]{name} failed: {NOT_READY_YET}\n")
            failed = True
        else:
            trouble = role.told()
            lines.append(f"[+]{name} ok ({trouble})\n" if trouble else f"[+]{name} ok\n")
    lines.extend(_not_excluded(excluded - checks.keys() - roles.keys()))
    if failed:
        return 500, "".join([*lines, f"{endpoint} check failed\n"])
    if "verbose" in query:
        return 200, "".join([*lines, f"{endpoint} check passed\n"])
    return 200, "ok"


def _not_excluded(unknown: Iterable[str]) -> Iterable[str]:
    quoted = ",".join(f'"{name}"' for name in sorted(unknown))
    if quoted:
        yield f"warn: some health checks cannot be excluded: no matches for {quoted}\n"


def _ping() -> None:
    return None
