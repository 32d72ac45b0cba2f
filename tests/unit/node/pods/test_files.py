"""Files that containers see beside their volumes, their termination messages, and their logs."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from mooring.model.container import Container
from mooring.model.pod import DnsConfig, DnsOption, Pod
from mooring.model.pod_volume import VolumeMount
from mooring.node.pods import files, log_rotation
from mooring.node.pods.files import ContainerFiles, hostname, prepare
from mooring.node.pods.log_rotation import LogRotation
from mooring.node.pods.paths import PodPaths
from mooring.node.pods.resolver import ClusterDns, resolver
from mooring.node.pods.termination_message import last_lines, read_termination_message
from mooring.node.pods.waiting_reason import Misconfigured
from mooring.oci.contract import ContainerSpec, Owner, RunAsUser
from mooring.plugins.layout import Layout
from tests.fakes.clock import VirtualClock
from tests.fakes.containers import FakeContainers
from tests.unit.node.pods.things import a_pod, ended

MAIN = Container("main", termination_message_path="dev/words")
NAMES = {
    "the pod's": (a_pod(), "web"),
    "its own": (a_pod(hostname="other"), "other"),
    "the host's": (a_pod(host_network=True), "n1"),
    "no longer than names may be": (a_pod(hostname="a" * 62 + "--b"), "a" * 62),
    "in full when it asks for that": (
        a_pod(subdomain="sub", set_hostname_as_fqdn=True),
        "web.sub.ns.svc.cluster.local",
    ),
    "in full only where there is a domain": (a_pod(set_hostname_as_fqdn=True), "web"),
    "whatever else it says": (a_pod(hostname="x", hostname_override="a.b.c"), "a.b.c"),
}


@pytest.mark.parametrize(("pod", "name"), NAMES.values(), ids=NAMES)
def test_hostname(pod: Pod, name: str) -> None:
    assert hostname(pod, "n1") == name


def test_a_full_name_that_the_kernel_does_not_take() -> None:
    pod = a_pod(hostname="a" * 60, subdomain="sub", set_hostname_as_fqdn=True)
    with pytest.raises(Misconfigured, match=r"is too long \(64 characters is the max, 85"):
        hostname(pod, "n1")


HOSTS_OWN = "# by hand\nnameserver 10.0.0.1\nsearch corp.example\noptions ndots:2 rotate\n"
RESOLVERS = {
    "the host's, to the letter": (a_pod(dns_policy="ClusterFirst"), HOSTS_OWN),
    "the pod's alone": (
        a_pod(dns_policy="None", dns_config=DnsConfig(("1.1.1.1",), ("a.b",))),
        "nameserver 1.1.1.1\nsearch a.b\n",
    ),
    "the host's, and what the pod adds": (
        a_pod(
            dns_policy="Default",
            dns_config=DnsConfig(
                ("10.0.0.1", "1.1.1.1", "1.1.1.2", "1.1.1.3"),
                ("corp.example", "a.b"),
                (DnsOption("ndots", "5"), DnsOption("edns0")),
            ),
        ),
        "nameserver 10.0.0.1\nnameserver 1.1.1.1\nnameserver 1.1.1.2\n"
        "search corp.example a.b\noptions ndots:5 rotate edns0\n",
    ),
    "as many domains as fit": (
        a_pod(dns_policy="None", dns_config=DnsConfig((), tuple(f"d{n}" for n in range(40)))),
        f"search {' '.join(f'd{n}' for n in range(32))}\n",
    ),
}


@pytest.mark.parametrize(("pod", "text"), RESOLVERS.values(), ids=RESOLVERS)
def test_who_resolves_names(pod: Pod, text: str) -> None:
    assert resolver(pod, HOSTS_OWN) == text


CLUSTER = ClusterDns(("127.53.1.2",), "cluster.local")
OF_CLUSTER = (
    "nameserver 127.53.1.2\n"
    "search ns.svc.cluster.local svc.cluster.local cluster.local corp.example\n"
    "options ndots:5\n"
)
IN_CLUSTER = {
    "the cluster's": (a_pod(dns_policy="ClusterFirst"), OF_CLUSTER),
    "the cluster's, on the host's network": (
        a_pod(dns_policy="ClusterFirstWithHostNet", host_network=True),
        OF_CLUSTER,
    ),
    "the host's, on the host's network": (
        a_pod(dns_policy="ClusterFirst", host_network=True),
        HOSTS_OWN,
    ),
    "the host's, if the pod says so": (a_pod(dns_policy="Default"), HOSTS_OWN),
    "the pod's alone": (
        a_pod(dns_policy="None", dns_config=DnsConfig(("1.1.1.1",))),
        "nameserver 1.1.1.1\n",
    ),
    "the cluster's, and what the pod adds": (
        a_pod(
            dns_policy="ClusterFirst",
            dns_config=DnsConfig((), ("a.b",), (DnsOption("ndots", "2"),)),
        ),
        OF_CLUSTER.replace("corp.example", "corp.example a.b").replace("ndots:5", "ndots:2"),
    ),
}


@pytest.mark.parametrize(("pod", "text"), IN_CLUSTER.values(), ids=IN_CLUSTER)
def test_who_resolves_names_where_the_cluster_has_a_server(pod: Pod, text: str) -> None:
    assert resolver(pod, HOSTS_OWN, CLUSTER) == text


@pytest.fixture
def paths(tmp_path: Path) -> PodPaths:
    paths = PodPaths(Layout(tmp_path))
    paths.layout.pod("p1").mkdir(parents=True)
    return paths


def wish(paths: PodPaths, pod: Pod, container: Container = MAIN) -> ContainerFiles:
    owner = Owner("ns", "web", "p1", "main", 0)
    return ContainerFiles(
        pod, container, "id" * 20, "web", "10.0.0.7", paths.log(owner), is_read_only=False
    )


def test_a_volume_in_the_place_of_a_file_wins(paths: PodPaths) -> None:
    container = replace(MAIN, volume_mounts=(VolumeMount("v", "/etc/hosts"),))
    targets = [bind.target for bind in prepare(paths, wish(paths, a_pod(), container))]
    assert targets == ["/etc/hostname", "/etc/resolv.conf", "/dev/words"]


def test_what_a_container_has_said_is_kept(paths: PodPaths) -> None:
    first = prepare(paths, wish(paths, a_pod()))
    words = first[-1].source
    words.write_text("words")
    assert prepare(paths, wish(paths, a_pod())) == first
    assert words.read_text() == "words"
    assert words.stat().st_mode & 0o777 == 0o666


def test_a_pod_on_the_hosts_network_has_the_hosts_names(paths: PodPaths) -> None:
    prepare(paths, wish(paths, a_pod(host_network=True)))
    text = paths.hosts(a_pod()).read_text()
    assert text == "# Kubernetes-managed hosts file (host network).\n" + (
        Path("/etc/hosts").read_text()
    )


def test_a_pod_of_a_domain(paths: PodPaths) -> None:
    prepare(paths, wish(paths, a_pod(subdomain="team")))
    assert "10.0.0.7\tweb.team.ns.svc.cluster.local\tweb\n" in paths.hosts(a_pod()).read_text()


# termination messages


def test_a_termination_message_is_the_end_of_what_was_left(tmp_path: Path) -> None:
    path = tmp_path / "words"
    path.write_bytes(b"x" * 5000 + b"end")
    said = read_termination_message(ended("main"), MAIN, path)
    assert (len(said), said[-3:]) == (4096, "end")


def test_nothing_was_left(tmp_path: Path) -> None:
    assert read_termination_message(ended("main", 1), MAIN, tmp_path / "none") == ""


FALL_BACK = replace(MAIN, termination_message_policy="FallbackToLogsOnError")
LOG = b"t stdout F one\nt stderr P two\nt stderr F three\n"
SAID = {
    "a failure without a word is told by its log": (FALL_BACK, 1, b"", "one\ntwothree\n"),
    "a word is better": (FALL_BACK, 1, b"word", "word"),
    "a success has nothing to explain": (FALL_BACK, 0, b"", ""),
    "the log is not asked unless somebody wants that": (MAIN, 1, b"", ""),
}


@pytest.mark.parametrize(("container", "code", "left", "then"), SAID.values(), ids=SAID)
def test_what_is_told(
    tmp_path: Path, container: Container, code: int, left: bytes, then: str
) -> None:
    words, path = tmp_path / "words", tmp_path / "0.log"
    words.write_bytes(left)
    path.write_bytes(LOG)
    found = replace(ended("main", code), log_path=path)
    assert read_termination_message(found, container, words) == then


def test_the_last_eighty_lines_and_two_thousand_bytes() -> None:
    many = b"".join(b"t stdout F %d\n" % number for number in range(200))
    assert last_lines(many).split()[0] == b"120"
    assert len(last_lines(b"t stdout F " + b"x" * 5000 + b"\n")) == 2048


# logs


async def _running(path: Path) -> tuple[FakeContainers, LogRotation]:
    clock = VirtualClock()
    containers = FakeContainers(clock)
    owner = Owner("ns", "web", "p1", "main", 0)
    spec = ContainerSpec("c1", owner, None, (), (), "/", RunAsUser(), "web", path)
    await containers.create(spec)
    await containers.start("c1")
    return containers, LogRotation(containers, clock)


async def test_a_log_that_is_full_is_put_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_rotation, "MOST_BYTES", 10)
    path = tmp_path / "0.log"
    containers, rotation = await _running(path)
    path.write_bytes(b"few")
    await rotation.look()
    assert [call.verb for call in containers.calls] == ["create", "start"]
    path.write_bytes(b"more than ten")
    await rotation.look()
    assert [call.verb for call in containers.calls][2:] == ["reopen_log"]
    assert [part.name for part in files.log_parts(path)] == ["0.log.20260102-030405"]


async def test_a_log_that_was_put_aside_before_a_crash_is_opened_anew(tmp_path: Path) -> None:
    containers, rotation = await _running(tmp_path / "0.log")
    await rotation.look()
    assert [call.verb for call in containers.calls][2:] == ["reopen_log"]


async def test_only_so_many_parts_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_rotation, "MOST_BYTES", 1)
    path = tmp_path / "0.log"
    _, rotation = await _running(path)
    for day in range(1, 8):
        (tmp_path / f"0.log.2025010{day}-000000").write_bytes(b"old")
    (tmp_path / "1.log").write_bytes(b"of another attempt")
    path.write_bytes(b"full")
    await rotation.look()
    assert [part.name for part in files.log_parts(path)] == [
        "0.log.20250105-000000",
        "0.log.20250106-000000",
        "0.log.20250107-000000",
        "0.log.20260102-030405",
    ]
    assert (tmp_path / "1.log").exists()


def test_a_log_goes_with_its_parts(tmp_path: Path) -> None:
    for name in ("0.log", "0.log.1", "10.log"):
        (tmp_path / name).touch()
    files.remove_log(tmp_path / "0.log")
    files.remove_log(tmp_path / "0.log")
    assert [path.name for path in tmp_path.iterdir()] == ["10.log"]


def test_logs_are_where_kubernetes_has_them(paths: PodPaths) -> None:
    owner = Owner("ns", "web", "p1", "main", 3)
    assert paths.log(owner) == paths.layout.root / "logs/ns_web_p1/main/3.log"
