"""What the machine can enforce, looked up once: neither comes or goes while it runs."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from mooring.node.admission.decide import Rules
from mooring.node.admission.sysctls import allowed

APP_ARMOR = Path("/sys/module/apparmor/parameters/enabled")
SELINUX = Path("/sys/fs/selinux/enforce")


def look(unsafe_sysctls: Sequence[str] = ()) -> Rules:
    """Raises: UsageError for settings that no pod could have to itself."""
    return Rules(allowed(unsafe_sysctls), _says_yes(APP_ARMOR), SELINUX.exists())


def _says_yes(path: Path) -> bool:
    with suppress(OSError):
        return path.read_text().startswith("Y")
    return False
