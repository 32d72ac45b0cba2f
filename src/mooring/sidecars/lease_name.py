"""The lease names of upstream's sidecars: with the same name, only one of the two is active."""

import re

_FORBIDDEN = re.compile(r"[^A-Za-z0-9-]")


def sanitized(driver: str) -> str:
    """A driver's name as part of others: only letters, digits and dashes, no dash at the end."""
    name = _FORBIDDEN.sub("-", driver)
    return f"{name}X" if name.endswith("-") else name


def lease_of_provisioner(driver: str) -> str:
    return sanitized(driver)


def lease_of_attacher(driver: str) -> str:
    return f"external-attacher-leader-{sanitized(driver)}"


def lease_of_health_monitor(driver: str) -> str:
    return f"external-health-monitor-leader-{sanitized(driver)}"


def lease_of_resizer(driver: str) -> str:
    return f"external-resizer-{sanitized(driver)}"


def lease_of_snapshotter(driver: str) -> str:
    return f"external-snapshotter-leader-{sanitized(driver)}"
