"""Looking into pods with kubectl: logs, exec, attach and cp, over SPDY and over WebSockets."""

import os
from pathlib import Path

import pytest

from tests.clients.containers import processes_about
from tests.clients.kubectl import Kubectl, kubectls
from tests.clients.nodes import ServerWithNode
from tests.clients.pods import STAYS, WITHIN, Pods, a_container, a_script, mounting
from tests.clients.terminal import in_terminal
from tests.fakes.waiting import until

SOME_MB = 20_000_000


@pytest.fixture
def server(pod_server: ServerWithNode) -> ServerWithNode:
    return pod_server


@pytest.fixture
def pods(kubectl: Kubectl) -> Pods:
    """Of kubectl 1.20 SPDY is to be expected, of 1.31 and later WebSockets."""
    return Pods(kubectl)


# logs


def test_logs_are_told_whole_and_in_part(pods: Pods) -> None:
    script = "echo first; echo second >&2; sleep 1.1; echo third; printf fourth"
    pods.create(a_script("web", script, restartPolicy="Never"))
    pods.ends("web")
    ran = pods.kubectl.run("logs", "web")
    assert ran.out == "first\nsecond\nthird\nfourth"
    assert pods.logs("web", "--tail=2") == "third\nfourth"
    assert pods.logs("web", "--since=1h") == "first\nsecond\nthird\nfourth"
    assert pods.logs("web", "--limit-bytes=8") == "first\nse"

    stamped = [line.split(" ") for line in pods.logs("web", "--timestamps").split("\n")]
    assert [text for _, text in stamped] == ["first", "second", "third", "fourth"]
    assert sorted(stamp for stamp, _ in stamped) == [stamp for stamp, _ in stamped]
    since = stamped[2][0].partition(".")[0] + "Z"
    assert pods.logs("web", f"--since-time={since}") == "third\nfourth"


def test_a_followed_log_goes_on_until_its_container_ends(pods: Pods) -> None:
    script = "echo ready; while test ! -e /usr/go; do sleep 0.05; done; seq 1 100000; echo end"
    pods.create(a_script("web", script, restartPolicy="Never"))
    pods.becomes("web", ".phase", "Running")
    with pods.kubectl.running("logs", "-f", "web") as following:
        following.line("ready")
        assert following.is_held()
        pods.sh("web", "touch /usr/go")
        for number in range(1, 100_001):
            assert following.line("") == str(number)
        following.line("end")
        assert following.ends() == 0


def test_the_log_of_the_run_before_is_kept(pods: Pods) -> None:
    pods.ready(a_script("fine"))
    said = pods.kubectl.refused("logs", "fine", "--previous")
    assert 'previous terminated container "main" in pod "fine" not found' in said

    script = f"test -e /s/ran && {{ echo second; {STAYS}; }}; touch /s/ran; echo first; exit 1"
    scratch = [{"name": "scratch", "emptyDir": {}}]
    pods.create(a_script("web", script, volumes=scratch, container=mounting(scratch="/s")))
    pods.becomes("web", ".containerStatuses[0].restartCount", "1")
    pods.kubectl("wait", "pod/web", "--for=condition=Ready", WITHIN)
    assert (pods.logs("web", "--previous"), pods.logs("web")) == ("first", "second")


def test_of_several_containers_one_has_to_be_named(pods: Pods, server: ServerWithNode) -> None:
    both = [a_container("one", f"echo 1; {STAYS}"), a_container("two", f"echo 2; {STAYS}")]
    pods.ready(a_script("web", containers=both))

    assert pods.logs("web", "-c", "two") == "2"
    assert sorted(pods.logs("web", "--all-containers").split()) == ["1", "2"]
    said = pods.kubectl.refused("logs", "web", "-c", "three")
    assert "container three is not valid for pod web" in said
    answer = server.ask("GET", f"/api/v1/namespaces/{pods.kubectl.namespace}/pods/web/log")
    assert (answer.code, answer.doc["message"]) == (
        400,
        "a container name must be specified for pod web, choose one of: [one two]",
    )
    said = pods.kubectl.refused("exec", "web", "-c", "three", "--", "true")
    assert "container three is not valid for pod web" in said
    assert 'pods "nobody" not found' in pods.kubectl.refused("exec", "nobody", "--", "true")


# exec


@kubectls()
def test_exec_has_three_streams_and_an_exit_code(pods: Pods) -> None:
    pods.ready(a_script("web"))
    script = "echo to stderr >&2; cat; exit 7"
    ran = pods.kubectl.run("exec", "-i", "web", "--", "sh", "-c", script, given="hello\n")
    assert (ran.code, ran.out) == (7, "hello\n")
    assert ran.err.splitlines() == ["to stderr", "command terminated with exit code 7"]

    given = "0123456789abcde\n" * 100_000
    ran = pods.kubectl.run("exec", "-i", "web", "--", "cat", given=given)
    assert (ran.code, ran.out == given) == (0, True)

    ran = pods.kubectl.run("exec", "web", "--", "/no/such/program")
    assert ran.code != 0
    assert "no such file or directory" in ran.err


@kubectls()
def test_a_terminal_in_a_container_knows_its_size(pods: Pods) -> None:
    pods.ready(a_script("web"))
    with in_terminal(pods.kubectl, "exec", "-it", "web", "--", "/bin/sh") as terminal:
        for rows, columns in ((24, 80), (30, 100)):
            terminal.resize(rows, columns)
            # The size travels beside what is typed: ask until it has arrived. The shell may draw
            # its prompt anew at any time, and what is typed is shown: neither holds the answer.
            asked = f"until test \"$(stty size)\" = '{rows} {columns}'; do sleep 0.1; done"
            terminal.type(f"{asked}; echo it is now {rows}' by '{columns}\n")
            terminal.wait_for(f"it is now {rows} by {columns}\r\n")
        terminal.type("exit 5\n")
        assert terminal.ends() == 5


def test_exec_into_a_container_that_does_not_run_is_refused(
    pods: Pods, server: ServerWithNode
) -> None:
    pods.create(a_script("done", "true", restartPolicy="Never"), a_script("dying", "false"))
    pods.ends("done")
    said = pods.kubectl.refused("exec", "done", "--", "true")
    assert "cannot exec into a container in a completed pod; current phase is Succeeded" in said

    pods.becomes("dying", ".containerStatuses[0].state.waiting.reason", "CrashLoopBackOff")
    said = pods.kubectl.refused("exec", "dying", "--", "true")
    assert 'container not found ("main")' in said
    of_done = f"/api/v1/namespaces/{pods.kubectl.namespace}/pods/done"
    for verb in ("exec?command=true&stdout=true", "attach?stdout=true"):
        assert 400 <= server.ask("GET", f"{of_done}/{verb}").code < 500


@kubectls()
async def test_nothing_goes_on_for_a_client_that_was_killed(
    pods: Pods, server: ServerWithNode, unique: str
) -> None:
    pods.ready(a_script("web", f"echo begun; {STAYS}"))
    before = server.open_files()
    script = f"echo begun; while true; do sleep 1; done; : {unique}"
    for flags in ((), ("-i",)):
        with pods.kubectl.running("exec", *flags, "web", "--", "sh", "-c", script) as going:
            going.line("begun")
            assert processes_about(f": {unique}", but="kubectl")
        await until(lambda: not processes_about(f": {unique}", but="kubectl"))
    with pods.kubectl.running("logs", "-f", "web") as going:
        going.line("begun")  # and then it has no more to say
    with pods.kubectl.running("attach", "web") as going:
        assert going.is_held()
    await until(lambda: server.open_files() <= before)


# attach


@kubectls()
def test_attach_talks_to_the_container_itself(pods: Pods) -> None:
    script = "while read line; do echo got $line; test $line = end && exit 3; done"
    talking = {"stdin": True}
    pods.ready(
        a_script("web", script, restartPolicy="Never", container=talking),
        a_script("tty", "stty -echo; " + script, container=talking | {"tty": True}),
        a_script("ticking", "while true; do echo tick; sleep 0.1; done"),
    )
    ran = pods.kubectl.run("attach", "-i", "web", given="one\nend\n")
    assert ran.out.splitlines()[-2:] == ["got one", "got end"], ran.err

    with in_terminal(pods.kubectl, "attach", "-it", "tty") as terminal:
        terminal.type("two\n")
        terminal.wait_for("got two\r\n")
    with pods.kubectl.running("attach", "ticking") as going:
        going.line("tick")
        going.line("tick")
    assert pods.status("tty")["restartCount"] == 0
    assert pods.status("ticking")["restartCount"] == 0


# cp


@kubectls()
def test_files_are_copied_both_ways_and_stay_whole(pods: Pods, tmp_path: Path) -> None:
    pods.ready(a_script("web"))
    sent, back = tmp_path / "sent", tmp_path / "back"
    (sent / "inner").mkdir(parents=True)
    content = os.urandom(SOME_MB)
    (sent / "inner" / "big").write_bytes(content)
    (sent / "little").write_text("little")

    pods.kubectl("cp", str(sent), "web:/usr/received")
    assert pods.sh("web", "cat /usr/received/little; wc -c </usr/received/inner/big") == (
        f"little{SOME_MB}"
    )
    pods.kubectl("cp", "web:/usr/received", str(back))

    assert (back / "inner" / "big").read_bytes() == content
    assert (back / "little").read_text() == "little"
    pods.kubectl("delete", "pod", "web", WITHIN)
