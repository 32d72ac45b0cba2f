"""Pods that really run, seen through a real kubectl: their containers from first to last."""

import time
from pathlib import Path

import pytest

from tests.clients.kubectl import Kubectl
from tests.clients.manifests import Doc, a_config_map, a_secret
from tests.clients.nodes import NODE, ServerWithNode
from tests.clients.pods import STAYS, WITHIN, Pods, a_container, a_script, mounting
from tests.fakes.waiting import until


@pytest.fixture
def server(pod_server: ServerWithNode) -> ServerWithNode:
    return pod_server


@pytest.fixture
def pods(kubectl: Kubectl) -> Pods:
    return Pods(kubectl)


WAITING = ".containerStatuses[0].state.waiting.reason"
SCRATCH: list[Doc] = [{"name": "scratch", "emptyDir": {}}]
ENVIRONMENT: list[Doc] = [
    {"name": "WORD", "value": "plain"},
    {"name": "TWICE", "value": "$(WORD), $$(WORD), $(NOBODY)"},
    {"name": "COLOUR", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "colour"}}},
    {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "password"}}},
    {
        "name": "NOTHING",
        "valueFrom": {"configMapKeyRef": {"name": "none", "key": "a", "optional": True}},
    },
    {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
    {"name": "WHERE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
    {"name": "TEAM", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['team']"}}},
    {
        "name": "MEMORY",
        "valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Mi"}},
    },
]


def test_a_container_has_the_environment_that_its_pod_gives_it(pods: Pods) -> None:
    pod = a_script(
        "web",
        "env",
        restartPolicy="Never",
        container={
            "env": ENVIRONMENT,
            "envFrom": [
                {"configMapRef": {"name": "settings"}, "prefix": "CM_"},
                {"secretRef": {"name": "keys"}},
                {"secretRef": {"name": "none", "optional": True}},
            ],
            "resources": {"limits": {"memory": "64Mi"}},
        },
    )
    pod["metadata"]["labels"] = {"team": "storage"}
    pods.create(a_config_map("settings", colour="blue"), a_secret("keys", password="hidden"), pod)
    pods.ends("web")

    found = dict(line.split("=", 1) for line in pods.logs("web").splitlines())

    assert (
        found.items()
        >= {
            "WORD": "plain",
            "TWICE": "plain, $(WORD), $(NOBODY)",
            "COLOUR": "blue",
            "PASSWORD": "hidden",
            "POD": "web",
            "WHERE": NODE,
            "TEAM": "storage",
            "MEMORY": "64",
            "CM_colour": "blue",
            "password": "hidden",
            "HOSTNAME": "web",
        }.items()
    )
    assert "NOTHING" not in found
    assert found["KUBERNETES_SERVICE_HOST"]


def test_a_container_waits_for_a_config_map_that_its_environment_needs(pods: Pods) -> None:
    reference = {"configMapKeyRef": {"name": "later", "key": "colour"}}
    wish = {"env": [{"name": "COLOUR", "valueFrom": reference}]}
    pods.create(a_script("web", 'echo "$COLOUR"', restartPolicy="Never", container=wish))
    told = pods.kubectl.event("web", "Failed")
    assert 'Error: configmap "later" not found' in told
    assert pods.table("STATUS") == [("CreateContainerConfigError",)]

    pods.create(a_config_map("later", colour="blue"))
    pods.ends("web")
    assert pods.logs("web") == "blue"


def test_a_container_is_who_its_pod_says_and_may_do_no_more(pods: Pods) -> None:
    user = {"runAsUser": 1234, "runAsGroup": 2345}
    strict = {"readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    rights = "sed -n 's/^CapBnd:\t//p' /proc/1/status"
    everybody = [
        a_container("someone", "id -u; id -g; id -G", securityContext=user),
        a_container("root", "id -u; id -G; pwd; echo $$$$; hostname", workingDir="/usr"),
        a_container("strict", f"{rights}; touch /usr/mark 2>&1", securityContext=strict),
        a_container("mighty", f"{rights}; ls /dev/kmsg", securityContext={"privileged": True}),
    ]
    groups = {"supplementalGroups": [4567], "fsGroup": 3456}
    pods.create(
        a_script("web", containers=everybody, restartPolicy="Never", securityContext=groups),
        a_script("timid", securityContext={"runAsNonRoot": True}),
    )
    pods.becomes("web", ".phase", "Failed")  # for the one that was not permitted to write

    assert pods.logs("web", "-c", "someone").split("\n") == ["1234", "2345", "2345 3456 4567"]
    root = pods.logs("web", "-c", "root").split("\n")
    assert (root[0], root[2], root[3], root[4]) == ("0", "/usr", "1", "web")
    assert set(root[1].split()) >= {"0", "3456", "4567"}
    strict_rights, refusal = pods.logs("web", "-c", "strict").split("\n")
    assert int(strict_rights, 16) == 0
    assert refusal.endswith("Read-only file system")
    mighty_rights, device = pods.logs("web", "-c", "mighty").split("\n")
    assert int(mighty_rights, 16) & (1 << 21)  # CAP_SYS_ADMIN
    assert device == "/dev/kmsg"
    pods.becomes("timid", WAITING, "CreateContainerConfigError")
    why = pods.status("timid")["state"]["waiting"]["message"]
    assert why.startswith("container has runAsNonRoot and image will run as root (pod: ")


def test_the_pods_phase_and_the_table_tell_how_containers_ended(pods: Pods) -> None:
    little = {"resources": {"limits": {"memory": "32Mi"}}}
    pods.create(
        a_script("done", "exit 0", restartPolicy="Never"),
        a_script("failed", "exit 3", restartPolicy="Never"),
        a_script("once", "exit 0", restartPolicy="OnFailure"),
        a_script("again", "exit 5"),
        a_script("hungry", "exec tail /dev/zero", restartPolicy="Never", container=little),
        a_script("absent", restartPolicy="Never", container={"command": ["/no/such/program"]}),
    )
    for name in ("done", "once"):
        pods.ends(name)
    for name in ("failed", "absent", "hungry"):
        pods.ends(name, "Failed")
    pods.becomes("again", WAITING, "CrashLoopBackOff")

    assert pods.table("NAME", "READY", "STATUS") == [
        ("absent", "0/1", "StartError"),
        ("again", "0/1", "CrashLoopBackOff"),
        ("done", "0/1", "Completed"),
        ("failed", "0/1", "Error"),
        ("hungry", "0/1", "OOMKilled"),
        ("once", "0/1", "Completed"),
    ]
    ended = pods.status("failed")["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (3, "Error")
    assert ended["startedAt"] <= ended["finishedAt"]
    again = pods.status("again")
    assert again["restartCount"] == 1
    assert again["lastState"]["terminated"]["exitCode"] == 5
    uid = pods.uid("again")
    assert again["state"]["waiting"]["message"] == (
        f"back-off 10s restarting failed container=main pod=again_{pods.kubectl.namespace}({uid})"
    )
    told = pods.kubectl.event("again", "BackOff")
    assert "Back-off restarting failed container main in pod again" in told
    missing = pods.status("absent")["state"]["terminated"]
    assert (missing["exitCode"], missing["reason"]) == (127, "StartError")
    assert "no such file or directory" in missing["message"]


def test_init_containers_run_one_by_one_before_the_others(pods: Pods) -> None:
    def step(name: str, script: str) -> Doc:
        return a_container(name, script, **mounting(scratch="/s"))

    first = step("first", "echo 1 >>/s/order")
    second = step("second", "echo 2 >>/s/order")
    main = step("main", "cat /s/order")
    broken = a_container("broken", "exit 7")
    beside = a_container("beside", f"echo beside; {STAYS}", restartPolicy="Always")
    spec: Doc = {"volumes": SCRATCH, "restartPolicy": "Never"}
    pods.create(
        a_script("good", initContainers=[first, beside, second], containers=[main], **spec),
        a_script("bad", initContainers=[broken, second], containers=[main], **spec),
    )
    pods.ends("good")
    pods.ends("bad", "Failed")

    assert pods.logs("good", "-c", "main").split() == ["1", "2"]
    assert pods.logs("good", "-c", "beside") == "beside"  # a sidecar: it ends with the pod
    assert pods.table("NAME", "STATUS") == [("bad", "Init:Error"), ("good", "Completed")]
    assert pods.status("bad")["state"] == {"waiting": {"reason": "PodInitializing"}}


def an_exec_probe(script: str, **fields: int) -> Doc:
    exec_of = {"exec": {"command": ["/bin/sh", "-c", script]}}
    return exec_of | {"periodSeconds": 1, "failureThreshold": 1} | fields


def test_probes_restart_a_container_and_tell_when_it_is_ready(pods: Pods) -> None:
    sick = {"livenessProbe": an_exec_probe("echo too bad; test ! -e /usr/sick")}
    late = {"readinessProbe": an_exec_probe("test -e /usr/open")}
    pods.create(
        a_script("sick", f"echo start; {STAYS}", container=sick),
        a_script("late", container=late),
    )
    pods.kubectl("wait", "--for=condition=Ready", "pod/sick", WITHIN)
    pods.becomes("late", ".phase", "Running")
    assert ("late", "0/1", "Running", "0") in pods.table("NAME", "READY", "STATUS", "RESTARTS")

    pods.sh("late", "touch /usr/open")
    pods.kubectl("wait", "--for=condition=Ready", "pod/late", WITHIN)
    pods.sh("late", "rm /usr/open")
    pods.kubectl("wait", "--for=condition=Ready=false", "pod/late", WITHIN)

    pods.sh("sick", "touch /usr/sick")
    pods.becomes("sick", ".containerStatuses[0].restartCount", "1")
    told = pods.kubectl.event("sick", "Unhealthy")
    assert "Liveness probe failed: too bad" in told
    told = pods.kubectl.event("sick", "Killing")
    assert "Container main failed liveness probe, will be restarted" in told
    assert pods.status("late")["restartCount"] == 0


def test_a_container_is_told_to_end_and_has_the_time_that_it_was_promised(
    pods: Pods, tmp_path: Path
) -> None:
    asked = 'trap "echo asked >>/host/said; exit 0" TERM; sleep 1000 & wait'
    before = {"exec": {"command": ["/bin/sh", "-c", "echo before >>/host/said"]}}
    after = {"exec": {"command": ["/bin/sh", "-c", "echo after >>/host/said"]}}
    hooks = {"lifecycle": {"postStart": after, "preStop": before}} | mounting(host="/host")
    host: list[Doc] = [{"name": "host", "hostPath": {"path": str(tmp_path)}}]
    deaf = 'trap "" TERM; while true; do sleep 1; done'
    pods.ready(a_script("polite", asked, container=hooks, volumes=host), a_script("deaf", deaf))

    began = time.monotonic()
    pods.kubectl("delete", "pod", "polite", "deaf", "--grace-period=3", WITHIN)

    assert 3 <= time.monotonic() - began < 10
    assert (tmp_path / "said").read_text().split() == ["after", "before", "asked"]


def test_last_words_are_told_in_the_status(pods: Pods) -> None:
    from_log = {"terminationMessagePolicy": "FallbackToLogsOnError"}
    words = a_container("words", "echo good bye >/dev/termination-log; exit 1")
    other = a_container("other", "echo see you >/usr/end", terminationMessagePath="/usr/end")
    logged = a_container("logged", "echo alas; exit 1", **from_log)
    pods.create(a_script("web", containers=[words, other, logged], restartPolicy="Never"))
    pods.ends("web", "Failed")

    statuses = [pods.status("web", each) for each in ("words", "other", "logged")]
    told = [each["state"]["terminated"]["message"] for each in statuses]
    assert told == ["good bye\n", "see you\n", "alas\n"]


async def test_nothing_is_left_of_a_pod_that_was_deleted(
    pods: Pods, server: ServerWithNode
) -> None:
    memory: list[Doc] = [{"name": "scratch", "emptyDir": {"medium": "Memory"}}]
    spec: Doc = {"volumes": memory, "container": mounting(scratch="/s")}
    pods.ready(a_script("web", **spec))
    pods.create(a_script("crashing", "exit 1", **spec))
    pods.becomes("crashing", ".containerStatuses[0].restartCount", "1")
    uids = (pods.uid("web"), pods.uid("crashing"))
    before = server.containers.left(*uids)
    assert all(before.values()), before

    pods.kubectl("delete", "pod", "web", "crashing", WITHIN)

    await until(lambda: not any(server.containers.left(*uids).values()), 5)
    logs = server.node_root / "logs"
    await until(lambda: not any(uid in path.name for path in logs.iterdir() for uid in uids), 5)
