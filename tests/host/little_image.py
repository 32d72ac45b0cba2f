"""An image made of a few programs of this machine and the libraries that they need."""

import re
import shutil
import subprocess
from pathlib import Path

from mooring.oci.contract import ImageConfig, StoredImage

PROGRAMS = (
    *("sh", "cat", "dd", "env", "head", "id", "ln", "ls", "mkdir", "readlink", "rm", "sleep"),
    *("stty", "touch", "true", "uname", "wc"),
)
PASSWD = "root:x:0:0:root:/root:/bin/sh\nbob:x:7:8::/home/bob:/bin/sh\n"
GROUP = "root:x:0:\nbobs:x:8:\nsingers:x:9:alice,bob\n"


def build(directory: Path) -> StoredImage:
    """Two layers: the programs, and over them the accounts."""
    programs, accounts = directory / "programs", directory / "accounts"
    for place in ("bin", "tmp", "root", "proc", "etc"):
        (programs / place).mkdir(parents=True)
    for name in PROGRAMS:
        found = shutil.which(name)
        assert found is not None, f"{name} is on every machine"
        _copy(Path(found).resolve(), programs / "bin" / name)
        for library in _libraries(found):
            _copy(Path(library), programs / library.lstrip("/"))
    (accounts / "etc").mkdir(parents=True)
    (accounts / "etc/passwd").write_text(PASSWD)
    (accounts / "etc/group").write_text(GROUP)
    return StoredImage(
        id=f"sha256:{'0' * 64}",
        names=("little",),
        layers=(accounts, programs),
        config=ImageConfig(),
        size=0,
    )


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists():
        shutil.copy(source, target)


def _libraries(program: str) -> list[str]:
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True)  # noqa: S603, S607  a test's own words
    return re.findall(r"(/\S+) \(0x", listed.stdout)
