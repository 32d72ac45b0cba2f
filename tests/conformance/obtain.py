"""The peers' programs, built through Go's module proxy: etcd, Kubernetes', and those of CSI.

Each is built once, into the git-ignored `.cache/peers`; files of a module may be put there too, in
`<name>-<version>`. MOORING_ETCD, MOORING_KUBE_APISERVER and
so on name programs to take instead. `python -m tests.conformance.obtain`
builds what is missing.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

CACHE = Path(__file__).parents[2] / ".cache" / "peers"
PACKAGES_PER_LINE = 200  # one line of progress after so many compiled packages

_NO_LETTER = re.compile(r"\W")
_ERROR = re.compile(r'"Error": "(.*)"')
_PART = re.compile(r"^\s*(?:replace\s+)?(\S+) => \./(?:staging/|client$)", re.MULTILINE)
_LANGUAGE = re.compile(r"^go \S+$", re.MULTILINE)

Say = Callable[[str], None]


class Missing(Exception):
    """A peer cannot be had on this machine; the text says why."""


class Program(msgspec.Struct, frozen=True):
    """A program and the module it is built from."""

    name: str
    module: str
    version: str
    package: str
    staging: str = ""  # the version that its parts are released under, if not its own
    variable: str = ""  # of the linker, that the version is written to
    linked: tuple[str, ...] = ()  # other variables that its own Makefile sets, with their values
    is_test: bool = False  # a package of tests, compiled into a program
    is_static: bool = False  # it runs in an image that has nothing else
    is_whole: bool = False  # its own go.mod is enough, and names versions that can be had
    called: str = ""  # for the environment, if not by its name
    replaced: tuple[str, ...] = ()  # of its go.mod, which count for nobody who requires it
    unlisted: tuple[str, ...] = ()  # modules that Go's checksum database may not know


ETCD = Program("etcd", "go.etcd.io/etcd/server/v3", "v3.6.5", "go.etcd.io/etcd/server/v3")


def _of_kubernetes(
    package: str, *, name: str = "", is_test: bool = False, is_static: bool = False
) -> Program:
    """A program of the release whose controllers and tests Mooring is compared with."""
    return Program(
        name or package.rpartition("/")[2],
        "k8s.io/kubernetes",
        "v1.35.0",
        f"k8s.io/kubernetes/{package}",
        staging="v0.35.0",
        variable="k8s.io/component-base/version.gitVersion",
        is_test=is_test,
        is_static=is_static,
    )


KUBE_APISERVER = _of_kubernetes("cmd/kube-apiserver")
KUBE_APISERVER_1_37 = msgspec.structs.replace(
    KUBE_APISERVER, version="v1.37.1", staging="v0.37.1", called="kube-apiserver-1.37"
)
KUBE_APISERVERS = {"1.35": KUBE_APISERVER, "1.37": KUBE_APISERVER_1_37}
"""By the release that Mooring follows (`--kubernetes-version`)."""

KUBECTL = msgspec.structs.replace(
    _of_kubernetes("cmd/kubectl"), version="v1.37.1", staging="v0.37.1"
)
KUBE_CONTROLLER_MANAGER = _of_kubernetes("cmd/kube-controller-manager")
E2E_TEST = _of_kubernetes("test/e2e", name="e2e.test", is_test=True)
AGNHOST = _of_kubernetes("test/images/agnhost", is_static=True)


def _of_csi(module: str, version: str, name: str) -> Program:
    """A program of the Kubernetes CSI project."""
    path = f"github.com/kubernetes-csi/{module}"
    return Program(name, path, version, f"{path}/cmd/{name}", variable="main.version")


CSI_SANITY = _of_csi("csi-test/v5", "v5.6.0", "csi-sanity")
CSI_HOST_PATH = _of_csi("csi-driver-host-path", "v1.18.0", "hostpathplugin")
NODE_DRIVER_REGISTRAR = _of_csi("node-driver-registrar", "v2.17.0", "csi-node-driver-registrar")
CSI_PROVISIONER = _of_csi("external-provisioner/v6", "v6.3.0", "csi-provisioner")
CSI_ATTACHER = _of_csi("external-attacher/v4", "v4.12.0", "csi-attacher")
CSI_RESIZER = _of_csi("external-resizer/v2", "v2.2.1", "csi-resizer")
CSI_SNAPSHOTTER = _of_csi("external-snapshotter/v8", "v8.6.0", "csi-snapshotter")
SNAPSHOT_CONTROLLER = _of_csi("external-snapshotter/v8", "v8.6.0", "snapshot-controller")
LIVENESSPROBE = _of_csi("livenessprobe", "v2.19.0", "livenessprobe")
HEALTH_MONITOR = _of_csi(
    "external-health-monitor", "v0.18.0", "csi-external-health-monitor-controller"
)

SNAPSHOT_METADATA_LISTER = Program(
    "snapshot-metadata-lister",
    "github.com/kubernetes-csi/external-snapshot-metadata",
    "v1.1.0",
    "github.com/kubernetes-csi/external-snapshot-metadata/tools/snapshot-metadata-lister",
)

HELM = Program("helm", "helm.sh/helm/v3", "v3.19.0", "helm.sh/helm/v3/cmd/helm", is_whole=True)

KINE = Program(
    "kine",
    "github.com/k3s-io/kine",
    "v0.16.4",
    "github.com/k3s-io/kine",
    variable="github.com/k3s-io/kine/pkg/version.Version",
    unlisted=("github.com/k3s-io/kine", "github.com/t4db/t4"),
)
"""etcd's API on SQLite and PostgreSQL."""

LVM_LOCALPV = Program(
    "lvm-driver",
    "github.com/openebs/lvm-localpv",
    "v1.5.0",
    "github.com/openebs/lvm-localpv/cmd",
    variable="github.com/openebs/lvm-localpv/pkg/version.Version",
    linked=("github.com/openebs/lvm-localpv/pkg/version.GitCommit=unknown",),  # else it panics
    is_static=True,
    replaced=(
        "github.com/container-storage-interface/spec => "
        "github.com/container-storage-interface/spec v1.2.0",
        "k8s.io/client-go => k8s.io/client-go v0.27.2",
    ),
)
"""A CSI driver of others, which `tests/vm` runs on a kernel with device-mapper."""


def _sample(name: str) -> Program:
    """An operator among controller-runtime's examples."""
    module = "sigs.k8s.io/controller-runtime"
    return Program(name, module, "v0.25.2", f"{module}/examples/{name}", is_whole=True)


CONTROLLER_RUNTIME_CRD = _sample("crd")
CONTROLLER_RUNTIME_BUILTINS = _sample("builtins")

SIDECARS = (
    *(CSI_PROVISIONER, CSI_ATTACHER, CSI_RESIZER, CSI_SNAPSHOTTER, SNAPSHOT_CONTROLLER),
    *(LIVENESSPROBE, HEALTH_MONITOR),
)
PROGRAMS = (
    *(ETCD, *KUBE_APISERVERS.values(), KUBE_CONTROLLER_MANAGER, E2E_TEST, AGNHOST, KUBECTL),
    *(CSI_SANITY, CSI_HOST_PATH, NODE_DRIVER_REGISTRAR, *SIDECARS),
    SNAPSHOT_METADATA_LISTER,
    HELM,
    KINE,
    LVM_LOCALPV,
    *(CONTROLLER_RUNTIME_CRD, CONTROLLER_RUNTIME_BUILTINS),
)


class Files(msgspec.Struct, frozen=True):
    """A directory of a module, taken as it is."""

    name: str
    module: str
    version: str
    directory: str


SNAPSHOT_KINDS = Files(
    "snapshot-kinds",
    "github.com/kubernetes-csi/external-snapshotter/client/v8",
    "v8.6.0",
    "config/crd",
)
"""The CustomResourceDefinitions of snapshots and group snapshots."""

_RIGHTS = "deploy/kubernetes"
_MONITOR = "external-health-monitor-controller"


def _rights(of: Program, name: str, directory: str = _RIGHTS) -> Files:
    return Files(f"{name}-rights", of.module, of.version, directory)


HOST_PATH_MANIFESTS = Files(
    "host-path-manifests",
    CSI_HOST_PATH.module,
    CSI_HOST_PATH.version,
    "deploy/kubernetes-1.34/hostpath",
)
"""What csi-driver-host-path publishes to be applied."""

HOST_PATH_EXAMPLES = Files(
    "host-path-examples", CSI_HOST_PATH.module, CSI_HOST_PATH.version, "examples"
)
"""Its class, claims, pods and snapshots."""

SIDECAR_RIGHTS = {
    _rights(CSI_PROVISIONER, "provisioner"): "rbac.yaml",
    _rights(CSI_ATTACHER, "attacher"): "rbac.yaml",
    _rights(CSI_RESIZER, "resizer"): "rbac.yaml",
    _rights(CSI_SNAPSHOTTER, "snapshotter", f"{_RIGHTS}/csi-snapshotter"): (
        "rbac-csi-snapshotter.yaml"
    ),
    _rights(HEALTH_MONITOR, "health-monitor", f"{_RIGHTS}/{_MONITOR}"): "rbac.yaml",
}
"""What each sidecar publishes as its roles, which the driver's manifests bind."""

AGNHOST_FILES = Files(
    "agnhost-files", AGNHOST.module, AGNHOST.version, "test/images/agnhost/porter"
)
"""What the image of agnhost has beside the program: a certificate, which tests also read."""


def files(wanted: Files) -> Path:
    """Where the directory is, after its module was downloaded if need be. Raises Missing."""
    if given := _given(wanted.name):
        return given
    kept = CACHE / f"{wanted.name}-{wanted.version}"
    if kept.is_dir():
        return kept
    if shutil.which("go") is None:
        raise Missing(f"{wanted.name} are a Go module's, and there is no `go` on PATH")
    CACHE.mkdir(parents=True, exist_ok=True)
    answer = _run(["go", "mod", "download", "-json", f"{wanted.module}@{wanted.version}"], CACHE)
    return Path(json.loads(answer)["Dir"]) / wanted.directory


def find(program: Program) -> Path:
    """Where the program is, if it is here already. Raises Missing."""
    if given := _given(program.called or program.name):
        return given
    binary = _home(program) / program.name
    if not binary.exists():
        raise Missing(f"{program.name} is not built: python -m tests.conformance.obtain does it")
    return binary


def _given(name: str) -> Path | None:
    """What the environment says to take instead."""
    path = os.environ.get(f"MOORING_{_NO_LETTER.sub('_', name).upper()}")
    return Path(path) if path else None


def obtain(program: Program, say: Say) -> Path:
    """Where the program is, after it was built if need be. Raises Missing."""
    with suppress(Missing):
        return find(program)
    if shutil.which("go") is None:
        raise Missing(f"{program.name} is built with Go, and there is no `go` on PATH")
    home = _home(program)
    home.mkdir(parents=True, exist_ok=True)
    say(f"downloading the sources of {program.name} {program.version}")
    if program.is_whole:
        _install(program, home)
        return find(program)
    _write_module(program, home)
    _build(program, home, home / program.name, say)
    return find(program)


def _install(program: Program, home: Path) -> None:
    target = f"{program.package}@{program.version}"
    _run(["go", "install", target], home, {**os.environ, "GOBIN": str(home)})


def _home(program: Program) -> Path:
    return CACHE / f"{program.name}-{program.version}"


def _write_module(program: Program, home: Path) -> None:
    """A module that requires the program's, and every part of it in the version it was released as.

    Some `go.mod`, as Kubernetes', point the parts at directories beside them, which a downloaded
    module does not carry.
    """
    settings = _settings(program)
    wanted = f"{program.module}@{program.version}"
    answer = _run(["go", "mod", "download", "-json", wanted], home, settings)
    theirs = Path(json.loads(answer)["GoMod"]).read_text()
    (home / "go.mod").write_text("\n".join(_module(program, theirs)))


def _settings(program: Program) -> dict[str, str]:
    """The environment for Go's commands."""
    settings = dict(os.environ)
    if program.unlisted:
        settings["GONOSUMDB"] = ",".join(program.unlisted)
    if program.is_static:
        settings["CGO_ENABLED"] = "0"
    return settings


def _module(program: Program, theirs: str) -> Iterator[str]:
    """The lines of its `go.mod`; `theirs` is that of the program's module."""
    yield f"module peer.local/{program.name}\n"
    if language := _LANGUAGE.search(theirs):
        yield f"{language[0]}\n"  # without it Go loads the modules of all modules: 6,000 files
    yield f"require {program.module} {program.version}\n"
    for part in _PART.findall(theirs):
        yield f"replace {part} => {part} {program.staging or program.version}"
    for line in program.replaced:
        yield f"replace {line}"
    yield ""


def _build(program: Program, home: Path, binary: Path, say: Say) -> None:
    say(f"building {program.name}; this takes some minutes, once")
    unfinished = binary.with_suffix(".unfinished")
    verb = ("test", "-c", "-vet=off") if program.is_test else ("build",)
    # -mod=mod asks for the modules of this one program; `go mod tidy` takes ten times as long.
    command = ["go", *verb, "-v", "-mod=mod", "-buildvcs=false", "-o", str(unfinished)]
    linked = list(program.linked)
    if program.variable:
        linked.append(f"{program.variable}={program.version}")
    if linked:
        command += ["-ldflags", " ".join(f"-X {each}" for each in linked)]
    building = subprocess.Popen(  # noqa: S603  a command of this file
        [*command, program.package],
        cwd=home,
        env=_settings(program),
        stderr=subprocess.PIPE,
        text=True,
    )
    assert building.stderr is not None
    tail: list[str] = []
    for count, line in enumerate(building.stderr, 1):
        tail = [*tail[-20:], line]
        if count % PACKAGES_PER_LINE == 0:
            say(f"building {program.name}: {count} packages done")
    building.stderr.close()
    if building.wait():
        raise Missing(f"{program.name} does not build: " + "".join(tail))
    unfinished.rename(binary)


def _run(command: list[str], directory: Path, environment: Mapping[str, str] | None = None) -> str:
    ran = subprocess.run(  # noqa: S603  commands of this file
        command, cwd=directory, env=environment, capture_output=True, text=True, check=False
    )
    if ran.returncode:
        told = ran.stderr.strip() or ran.stdout.strip()
        found = _ERROR.search(told)  # of an answer in JSON
        raise Missing(f"{' '.join(command[:3])}: {found[1] if found else told}")
    return ran.stdout


def _main() -> None:
    def say(line: str) -> None:
        sys.stdout.write(line + "\n")

    for program in PROGRAMS:
        try:
            say(f"{program.name}: {obtain(program, say)}")
        except Missing as reason:
            say(f"{program.name}: not to be had: {reason}")


if __name__ == "__main__":
    _main()
