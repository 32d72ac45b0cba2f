"""Images of pods: pulled, imported, missing, and what is told. None runs on the host's root."""

import io
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.clients.containers import PROMPTLY
from tests.clients.guides import Typed, type_steps, typed_in
from tests.clients.kubectl import Kubectl
from tests.clients.nodes import ServerWithNode, server_with_node
from tests.clients.pods import STAYS, WITHIN, Pods, a_container, a_script
from tests.clients.why.heal import heal
from tests.clients.why.situations import Situation, runs
from tests.clients.why.stage import Stage
from tests.fakes.image_archives import oci_files
from tests.fakes.real_server import command
from tests.host import little_image
from tests.host.docker_registry import PASSWORD, USER, docker_registry

WAITING = ".containerStatuses[0].state.waiting.reason"


@pytest.fixture(scope="module")
def server(
    needs_runtime: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerWithNode]:
    with server_with_node(tmp_path_factory.mktemp("images") / "data", "--no-host-rootfs") as made:
        yield made


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of an image: a shell and little more."""
    place = tmp_path_factory.mktemp("image")
    little_image.build(place)
    shutil.copytree(place / "accounts", place / "programs", dirs_exist_ok=True)
    return place / "programs"


@pytest.fixture
def pods(kubectl: Kubectl) -> Pods:
    return Pods(kubectl)


def image(server: ServerWithNode, verb: str, *arguments: str) -> str:
    """`mooring image`, as it is typed."""
    line = command("image", verb, *arguments, "--data-dir", str(server.data_dir))
    ran = subprocess.run(line, capture_output=True, text=True, timeout=PROMPTLY, check=True)  # noqa: S603
    return ran.stdout


def test_a_pod_waits_for_its_image_and_runs_as_soon_as_it_is_imported(
    pods: Pods, server: ServerWithNode, root: Path, unique: str
) -> None:
    name = f"127.0.0.1:1/{unique}:1"
    never = {"image": name, "imagePullPolicy": "Never"}
    pods.create(
        a_script("pulling", container={"image": name}),
        a_script("never", container=never),
        a_script("misnamed", container={"image": "Not/A Name"}),
    )
    told = "cannot reach http://127.0.0.1:1: Connection refused"
    assert told in pods.kubectl.event("pulling", "Failed", f'Failed to pull image "{name}": ')
    pods.kubectl.event("pulling", "Failed", "Error: ErrImagePull")
    pods.becomes("pulling", WAITING, "ImagePullBackOff")
    message = pods.status("pulling")["state"]["waiting"]["message"]
    assert message.startswith(f'Back-off pulling image "{name}": ErrImagePull: ')
    assert told in message
    pods.becomes("never", WAITING, "ErrImageNeverPull")
    message = pods.status("never")["state"]["waiting"]["message"]
    assert f'Container image "{name}" is not present with pull policy of Never' in message
    assert "mooring image import" in message
    pods.becomes("misnamed", WAITING, "InvalidImageName")
    said = pods.kubectl.refused("logs", "pulling")
    assert "is waiting to start: trying and failing to pull image" in said

    assert image(server, "import", name, str(root)).startswith(f"imported {name} (")

    # Long before the next attempt would be due.
    pods.kubectl("wait", "pod/pulling", "pod/never", "--for=condition=Ready", "--timeout=5s")
    told = pods.kubectl.event("pulling", "Pulled")
    assert f'Container image "{name}" already present on machine' in told


def test_why_names_an_image_that_cannot_be_had_and_takes_the_one_that_was_meant(
    kubectl: Kubectl, server: ServerWithNode, root: Path, unique: str, tmp_path: Path
) -> None:
    meant = f"127.0.0.1:1/{unique}/little:1"
    image(server, "import", meant, str(root))
    server.kill()
    server.start()  # a node tells of its images when it starts, and every ten seconds
    pod = a_script("web", container={"image": meant.replace("little", "litle")})
    helps = f"takes {meant}, which the node has"
    with closing(Stage(server.kubeconfig, kubectl, kubectl.namespace)) as stage:
        heal(stage, Situation("pod/web", "litle:1", helps, (pod,), end=runs), tmp_path)


def test_a_pod_runs_an_image_of_a_registry_with_its_pull_secret(
    pods: Pods, server: ServerWithNode, root: Path, unique: str, tmp_path: Path
) -> None:
    (root / "etc" / unique).touch()  # so that it is another image than that of other tests
    with docker_registry(tmp_path) as registry:
        registry.push("team/little", "v1", oci_files([tar_of(root)]))
        name = f"{registry.host}/team/little:v1"
        login = (f"--docker-username={USER}", f"--docker-password={PASSWORD}")
        server_flag = f"--docker-server={registry.host}"
        pods.kubectl("create", "secret", "docker-registry", "mine", server_flag, *login)

        pods.create(a_script("denied", container={"image": name}))
        assert "pull access denied" in pods.kubectl.event("denied", "Failed", "Failed to pull")
        secrets = [{"name": "mine"}]
        pods.ready(a_script("web", container={"image": name}, imagePullSecrets=secrets))
        assert f'Successfully pulled image "{name}" in ' in pods.kubectl.event("web", "Pulled")
        assert pods.sh("web", "ls /etc").split().count(unique) == 1
        (line,) = (line for line in image(server, "ls").splitlines() if name in line)
        assert line.endswith(" pulled"), line
    pods.kubectl("delete", "pod", "web", "denied", WITHIN)


def test_the_commands_of_the_page_on_images(
    kubectl: Kubectl, server: ServerWithNode, root: Path, unique: str, tmp_path: Path
) -> None:
    """Word for word, but for the registry and the place."""
    (root / "etc" / unique).touch()  # so that it is another image than that of other tests
    (tmp_path / "nginx.tar").write_bytes(tar_of(root))
    (tmp_path / "data").symlink_to(server.data_dir)
    with docker_registry(tmp_path) as registry:
        registry.push("team/tool", "v2", oci_files([tar_of(root)]))
        (tmp_path / "config.json").write_text(registry.docker_config)
        for step in typed_in("images.md", "Pulling by hand, and importing"):
            line = step.line.replace("quay.io", registry.host)
            line = line.replace("~/.docker/config.json", "config.json")
            type_steps([Typed(line, step.shown)], kubectl, tmp_path)
    left = image(server, "ls")
    assert f"{registry.host}/team/tool:v2" in left
    assert "nginx" not in left


def tar_of(root: Path) -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as archive:
        archive.add(root, ".")
    return written.getvalue()


def test_a_container_has_the_files_of_its_image_and_writes_to_its_own_layer(
    pods: Pods, server: ServerWithNode, root: Path, tmp_path: Path
) -> None:
    own = Path(shutil.copytree(root, tmp_path / "own"))
    (own / "etc" / "own").touch()  # so that it is another image than that of other tests
    image(server, "import", "little", str(own))
    listed = image(server, "ls").splitlines()
    (line,) = (line for line in listed if "library/little" in line)
    assert line.startswith("docker.io/library/little:latest ")
    first = a_container("first", f"cd /; touch mark; ls; {STAYS}", image="little")
    second = a_container("second", f"cd /; ls; id -u; cat /etc/passwd; {STAYS}", image="little")
    pods.ready(a_script("web", containers=[first, second]))

    seen = pods.logs("web", "-c", "first").split()
    assert {"bin", "etc", "mark", "proc"} <= set(seen)
    assert "boot" not in seen
    other = pods.logs("web", "-c", "second")
    assert "mark" not in other.split()
    assert "bob:x:7:8" in other
    assert "sha256:" in pods.status("web", "first")["imageID"]

    assert "containers use its files" in image(server, "rm", "little")
    assert pods.kubectl("exec", "web", "-c", "first", "--", "ls", "/mark") == "/mark"
    pods.kubectl("delete", "pod", "web", WITHIN)
