"""The `mooring` command as a user meets it: what it says, what it refuses, how it ends."""

import json
import os
import re
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
import yaml

from mooring import __version__
from mooring.apiserver.auth.tokens import FIXED_ROLES
from mooring.node.status.hardware import own_addresses
from tests.fakes.objects import a_config_map
from tests.fakes.real_server import READY, ApiServer, RealServer, command

LOG_LINE = re.compile(r"time=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z level=info at=mooring\.")
MAPS = "/api/v1/namespaces/default/configmaps"


class Ran(msgspec.Struct, frozen=True):
    code: int
    out: str
    err: str


def run(*arguments: str, seconds: float = 30.0, **environment: str) -> Ran:
    done = subprocess.run(  # noqa: S603  our own program
        command(*arguments),
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
        env=os.environ | {"NO_COLOR": "1", "COLUMNS": "120"} | environment,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def check_refused(ran: Ran, *words: str) -> None:
    """One line that says what is wrong and what to do; exit code 1; nothing else."""
    assert ran.code == 1, ran
    assert ran.out == ""
    assert ran.err.startswith("mooring: ")
    assert ran.err.count("\n") == 1, ran.err
    for word in words:
        assert word in ran.err


def up(data_dir: Path, *flags: str) -> Ran:
    """`mooring up` that is expected to refuse."""
    return run("up", "--port", "0", "--data-dir", str(data_dir), *flags)


# what it says

HELP = {
    "mooring": ((), ("up", "apiserver", "controllers", "scheduler", "node", "kubeconfig")),
    "mooring up": (
        ("up",),
        ("--data-dir", "--port", "--kubeconfig", "--node-name", "--root-dir", "Example"),
    ),
    "mooring apiserver": (("apiserver",), ("--data-dir", "--port", "--host", "--name")),
    "mooring kubeconfig": (
        ("kubeconfig",),
        ("--role", "--server", "--output", "node:<name>", *FIXED_ROLES),
    ),
    "mooring controllers": (("controllers",), ("--leader-elect", "--metrics-address", "Example")),
    "mooring scheduler": (("scheduler",), ("--leader-elect", "--metrics-address", "Example")),
    "mooring node": (("node",), ("--node-name", "--root-dir", "--kubeconfig", "Example")),
    "mooring version": (("version",), ("Python",)),
}


@pytest.mark.parametrize(("command_line", "words"), HELP.values(), ids=HELP)
def test_help(command_line: tuple[str, ...], words: tuple[str, ...]) -> None:
    ran = run(*command_line, "--help")
    assert (ran.code, ran.err) == (0, "")
    for word in words:
        assert word in ran.out
    assert "Traceback" not in ran.out


def test_without_a_command_the_commands_are_told() -> None:
    ran = run()
    assert "Commands" in ran.out + ran.err
    assert "Traceback" not in ran.err


def test_version() -> None:
    ran = run("version")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"mooring {__version__} (Kubernetes API 1.35 or 1.37, Python 3.")


MISUSED = {
    "an unknown command": ("down",),
    "an unknown flag": ("up", "--colour"),
    "a port that is none": ("up", "--port", "seventy"),
    "a port too high": ("up", "--port", "70000"),
    "a log level that is none": ("up", "--port", "0", "--log-level", "loud"),
    "a node's name that is none": ("up", "--port", "0", "--node-name", "my_node"),
}


@pytest.mark.parametrize("command_line", MISUSED.values(), ids=MISUSED)
def test_misuse_is_told(command_line: tuple[str, ...], tmp_path: Path) -> None:
    data_dir = ("--data-dir", str(tmp_path)) if command_line[0] == "up" else ()
    ran = run(*command_line, *data_dir)
    assert ran.code in {1, 2}
    assert ran.err
    assert "Traceback" not in ran.err


# what it refuses


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ran = run("up", "--port", str(port), "--data-dir", str(tmp_path / "data"))
    check_refused(ran, f"port {port} on 127.0.0.1 is taken", "--port")


def test_an_address_that_is_not_ours(tmp_path: Path) -> None:
    check_refused(up(tmp_path / "data", "--host", "192.0.2.1"), "cannot listen on 192.0.2.1:0")


def test_a_host_that_is_none(tmp_path: Path) -> None:
    check_refused(up(tmp_path / "data", "--host", "no such host"), "no such host")


def test_a_file_in_the_data_directory_s_place(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_text("mine")
    check_refused(up(file), str(file), "choose another --data-dir")
    assert file.read_text() == "mine"


def test_a_data_directory_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    check_refused(up(tmp_path / "file" / "data"), "choose another --data-dir")


@pytest.mark.skipif(not Path("/proc/version").exists(), reason="there is no /proc here")
def test_a_data_directory_where_not_even_root_writes() -> None:
    check_refused(up(Path("/proc/mooring")), "choose another --data-dir")


def test_a_kubeconfig_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    elsewhere = tmp_path / "file" / "kubeconfig"
    check_refused(up(tmp_path / "data", "--kubeconfig", str(elsewhere)), str(elsewhere))


def test_a_data_directory_in_use(own_server: RealServer) -> None:
    ran = up(own_server.data_dir)
    check_refused(ran, f"in use by another mooring (pid {own_server.pid})", "--data-dir")
    assert own_server.ask("GET", "/version").code == 200


@contextmanager
def stopped(server: RealServer) -> Iterator[Path]:
    """Its database, with something in it, while it does not run."""
    assert server.ask("POST", MAPS, a_config_map("kept")).code == 201
    assert server.stop() == 0
    yield server.data_dir / "mooring.db"


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "other bytes at the beginning": lambda content: b"not a database" + content[14:],
    "other bytes in the middle": lambda content: content.replace(b"kept", b"lost"),
    "cut short": lambda content: content[: len(content) // 2],
    "empty": lambda _: b"",
}


@pytest.mark.parametrize("damage", DAMAGE, ids=DAMAGE)
def test_a_damaged_database_is_refused_and_left_as_it_is(
    own_server: RealServer, damage: str
) -> None:
    with stopped(own_server) as database:
        sound = database.read_bytes()
        database.write_bytes(DAMAGE[damage](sound))
        assert database.read_bytes() != sound
        before = contents(own_server.data_dir)
        ran = up(own_server.data_dir)
        check_refused(ran, str(database), "Nothing was changed", "backup")
        assert contents(own_server.data_dir) == before
        database.write_bytes(sound)
        own_server.start()
        assert own_server.ask("GET", f"{MAPS}/kept").code == 200


def contents(directory: Path) -> dict[str, bytes]:
    """All files but the lock, which says who looked last."""
    return {
        str(file.relative_to(directory)): file.read_bytes()
        for file in sorted(directory.rglob("*"))
        if file.is_file() and file.suffix != ".lock"
    }


def test_a_database_of_the_future_is_refused(own_server: RealServer) -> None:
    with stopped(own_server) as database:
        connection = sqlite3.connect(database)
        (revision,) = connection.execute("SELECT revision FROM meta").fetchone()
        checksum = zlib.crc32(b"99", zlib.crc32(f"meta  {revision}".encode()))
        connection.execute("UPDATE meta SET format = 99, checksum = ?", (checksum,))
        connection.commit()
        connection.close()
        check_refused(up(own_server.data_dir), "has format 99, not 1")


def test_damaged_tokens_are_refused_and_left_as_they_are(own_server: RealServer) -> None:
    with stopped(own_server):
        tokens = own_server.data_dir / "tokens.json"
        tokens.write_text('{"version": 1, "tokens": {"admin": "secret-of-the-admin-"')
        ran = up(own_server.data_dir)
        check_refused(ran, "the role tokens cannot be read")
        assert "secret-of-the-admin" not in ran.err
        assert tokens.read_text().endswith('"secret-of-the-admin-"')


def test_a_lost_authority_key_is_refused(own_server: RealServer) -> None:
    with stopped(own_server):
        (own_server.data_dir / "pki" / "ca.key").unlink()
        check_refused(up(own_server.data_dir), "ca.key is missing")


# kubeconfigs

ROLES = {
    "admin": ("admin", "/api/v1/namespaces/default/secrets", 200),
    "controllers": ("system:kube-controller-manager", "/api/v1/persistentvolumes", 200),
    "scheduler": ("system:kube-scheduler", "/api/v1/pods", 200),
    "read-only": ("read-only", "/api/v1/namespaces/default/secrets", 403),
    "node:made-while-it-runs": (
        "system:node:made-while-it-runs",
        "/apis/storage.k8s.io/v1/csidrivers",
        200,
    ),
}


@pytest.mark.parametrize("role", ROLES)
def test_a_kubeconfig_for_each_role_works_at_once(real_server: RealServer, role: str) -> None:
    ran = run("kubeconfig", "--role", role, "--data-dir", str(real_server.data_dir))
    assert (ran.code, ran.err) == (0, "")
    document = yaml.safe_load(ran.out)
    (cluster,), (user,) = document["clusters"], document["users"]
    assert cluster["cluster"]["server"] == real_server.url
    assert document["current-context"] == f"mooring-{role}"
    name, path, code = ROLES[role]
    assert real_server.ask("GET", path, token=user["user"]["token"]).code == code
    review = real_server.ask(
        "POST",
        "/apis/authentication.k8s.io/v1/selfsubjectreviews",
        {},
        token=user["user"]["token"],
    )
    assert review.doc["status"]["userInfo"]["username"] == name
    again = run("kubeconfig", "--role", role, "--data-dir", str(real_server.data_dir))
    assert again.out == ran.out, "one role, one token"


def test_a_kubeconfig_in_a_file_is_its_owner_s_alone(
    real_server: RealServer, tmp_path: Path
) -> None:
    file = tmp_path / "for-others.conf"
    ran = run(
        *("kubeconfig", "--role", "read-only", "--data-dir", str(real_server.data_dir)),
        *("--server", "https://10.0.0.5:6443", "-o", str(file)),
    )
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert file.stat().st_mode & 0o777 == 0o600
    document = yaml.safe_load(file.read_text())
    assert document["clusters"][0]["cluster"]["server"] == "https://10.0.0.5:6443"


REFUSED_ROLES = {
    "an unknown role": ("king", "there is no role 'king'"),
    "a node that cannot be named so": ("node:Bad_Name", "cannot name a node"),
    "a node without a name": ("node:", "cannot name a node"),
}


@pytest.mark.parametrize(("role", "words"), REFUSED_ROLES.values(), ids=REFUSED_ROLES)
def test_roles_that_do_not_exist(real_server: RealServer, role: str, words: str) -> None:
    ran = run("kubeconfig", "--role", role, "--data-dir", str(real_server.data_dir))
    check_refused(ran, words)


def test_a_kubeconfig_where_no_server_ever_ran(tmp_path: Path) -> None:
    check_refused(run("kubeconfig", "--data-dir", str(tmp_path)), "mooring up")
    assert list(tmp_path.iterdir()) == []


def test_a_kubeconfig_that_cannot_be_put_there(real_server: RealServer, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    target = tmp_path / "file" / "conf"
    ran = run("kubeconfig", "--data-dir", str(real_server.data_dir), "-o", str(target))
    check_refused(ran, str(target))


# how it runs and ends


def test_what_it_keeps_is_its_owner_s_alone(own_server: RealServer) -> None:
    assert own_server.data_dir.stat().st_mode & 0o777 == 0o700
    for file in own_server.data_dir.rglob("*"):
        assert file.stat().st_mode & 0o077 == 0, file


def test_it_takes_as_many_open_files_as_it_may(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    server = RealServer(tmp_path / "data")
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        server.start()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert resource.prlimit(server.pid, resource.RLIMIT_NOFILE) == (hard, hard)
    assert server.stop() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_cleanly_and_a_start_finds_everything(
    own_server: RealServer, number: signal.Signals
) -> None:
    created = own_server.ask("POST", MAPS, a_config_map("kept")).doc
    token, authority = own_server.token(), (own_server.data_dir / "pki/ca.crt").read_bytes()
    own_server.send(number)
    assert own_server.wait() == 0
    assert own_server.log.read_text() == ""
    assert not list(own_server.data_dir.glob("*-wal"))
    own_server.start()
    assert own_server.ask("GET", f"{MAPS}/kept").doc == created
    assert own_server.token() == token
    assert (own_server.data_dir / "pki/ca.crt").read_bytes() == authority


def test_a_copy_of_the_data_is_the_same_cluster(own_server: RealServer, tmp_path: Path) -> None:
    with stopped(own_server):
        copy = RealServer(tmp_path / "copy")
        shutil.copytree(own_server.data_dir, copy.data_dir)
        copy.start()
        assert copy.ask("GET", f"{MAPS}/kept").code == 200
        assert copy.stop() == 0


def test_the_ready_line_names_url_and_kubeconfig(tmp_path: Path) -> None:
    second = tmp_path / "elsewhere" / "config"
    server = RealServer(tmp_path / "data", "--kubeconfig", str(second))
    server.start()  # which checks the line
    assert server.stop() == 0
    documents = [yaml.safe_load(file.read_text()) for file in (server.kubeconfig, second)]
    assert documents[0] == documents[1]
    assert documents[0]["clusters"][0]["cluster"]["server"] == server.url
    assert second.stat().st_mode & 0o777 == 0o600
    assert READY.match(f"mooring is ready at {server.url} (kubectl --kubeconfig {second})")


def test_the_api_server_alone(tmp_path: Path) -> None:
    server = ApiServer(tmp_path / "data").start()
    assert server.ask("GET", "/readyz").body == b"ok"
    assert server.stop() == 0
    for line in server.log.read_text().splitlines():
        assert LOG_LINE.match(line), line


def test_log_lines_are_json_if_so_asked(tmp_path: Path) -> None:
    server = ApiServer(tmp_path / "data", "--log-format", "json", "--log-level", "debug").start()
    assert server.ask("GET", "/api").code == 200
    assert server.stop() == 0
    lines = [json.loads(line) for line in server.log.read_text().splitlines()]
    assert lines
    for line in lines:
        assert {"time", "level", "logger", "msg"} <= line.keys()


def test_names_go_into_the_certificate(tmp_path: Path) -> None:
    server = RealServer(tmp_path / "data", "--name", "mooring.example.com", "--name", "10.1.2.3")
    server.start()
    try:
        with socket.create_connection((server.host, server.port)) as plain:
            tls = server.tls()
            with tls.wrap_socket(plain, server_hostname="mooring.example.com") as secured:
                names = secured.getpeercert()
        assert names is not None
        assert ("IP Address", "10.1.2.3") in names["subjectAltName"]
    finally:
        assert server.stop() == 0


@pytest.mark.parametrize("kind", [ApiServer, RealServer], ids=["apiserver", "up"])
def test_a_server_for_other_machines_says_where_and_warns(
    tmp_path: Path, kind: type[RealServer]
) -> None:
    own = own_addresses()
    if not own or ":" in own[0]:
        pytest.skip("this machine has no address for others")
    server = kind(tmp_path / "data", "--host", "0.0.0.0").start()  # noqa: S104  on purpose
    try:
        assert server.host == own[0]
        assert server.ask("GET", "/version").code == 200, "its certificate has that name"
        lines = [server.next_line() for _ in range(1 if kind is ApiServer else 3)]
        assert lines[-1].startswith("  warning: other machines reach it at every address")
        kubeconfig = yaml.safe_load(server.kubeconfig.read_text())
        (cluster,) = kubeconfig["clusters"]
        assert cluster["cluster"]["server"] == f"https://127.0.0.1:{server.port}"
    finally:
        assert server.stop() == 0


def test_python_runs_it_and_says_its_version() -> None:
    assert run("--version") == run("version")


def test_flags_come_from_the_environment_and_a_file(tmp_path: Path) -> None:
    (tmp_path / "flags.yaml").write_text("role: read-only\n")
    variables = {
        "MOORING_KUBECONFIG_CONFIG": str(tmp_path / "flags.yaml"),
        "MOORING_KUBECONFIG_DATA_DIR": str(tmp_path / "from-the-environment"),
    }
    ran = run("kubeconfig", seconds=30.0, **variables)
    check_refused(ran, str(tmp_path / "from-the-environment"))
    (tmp_path / "flags.yaml").write_text("colour: red\n")
    check_refused(run("kubeconfig", seconds=30.0, **variables), "there is no flag --colour")


def test_shells_are_taught_its_commands() -> None:
    program = Path(sys.executable).with_name("mooring")  # what a shell completes is its name
    asked = {"_MOORING_COMPLETE": "complete_bash", "COMP_WORDS": "mooring kube", "COMP_CWORD": "1"}
    done = subprocess.run(  # noqa: S603  our own program
        [program], capture_output=True, text=True, check=False, env=os.environ | asked
    )
    assert done.stdout.split() == ["kubeconfig"]


def test_no_secret_is_ever_logged(tmp_path: Path) -> None:
    server = RealServer(tmp_path / "data", "--log-level", "debug").start()
    secret = {"metadata": {"name": "s"}, "stringData": {"key": "hush-hush"}}
    assert server.ask("POST", "/api/v1/namespaces/default/secrets", secret).code == 201
    assert server.ask("GET", "/api/v1/nodes", token="wrong-but-mine").code == 401
    tokens = json.loads((server.data_dir / "tokens.json").read_text())["tokens"].values()
    assert server.stop() == 0
    logged = server.log.read_text()
    for hidden in ("hush-hush", "wrong-but-mine", *tokens):
        assert hidden not in logged
