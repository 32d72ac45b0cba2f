"""Replication controllers, services, and the ephemeral containers of pods."""

import pytest

from mooring.apiserver.kinds.contract import Context
from mooring.apiserver.kinds.pod.pod import POD
from mooring.apiserver.kinds.replication_controller import REPLICATION_CONTROLLER
from mooring.apiserver.kinds.service import SERVICE
from mooring.model.document import Doc
from tests.unit.apiserver.kinds.writing import (
    BEFORE,
    NOW,
    create,
    created,
    merged,
    printed,
    update_status,
    updated,
    warned,
)

CONTROLLER: Doc = {
    "metadata": {"name": "web", "namespace": "ns", "creationTimestamp": BEFORE},
    "spec": {
        "template": {
            "metadata": {"labels": {"app": "web", "tier": "a"}},
            "spec": {"containers": [{"name": "c", "image": "busybox:1"}]},
        }
    },
}


def test_what_a_controller_leaves_unsaid() -> None:
    stored = created(REPLICATION_CONTROLLER, CONTROLLER)
    labels = {"app": "web", "tier": "a"}
    assert (stored["spec"]["replicas"], stored["spec"]["selector"]) == (1, labels)
    assert stored["metadata"]["labels"] == labels
    assert stored["spec"]["template"]["spec"]["restartPolicy"] == "Always"
    assert stored["status"] == {"replicas": 0}


def _on_the_network(port: Doc) -> Doc:
    container = {"name": "c", "image": "busybox:1", "ports": [{"containerPort": 80, **port}]}
    return {"template": {"spec": {"hostNetwork": True, "containers": [container]}}}


TEMPLATES: dict[str, tuple[Doc, list[str]]] = {
    "as it is": ({}, []),
    "a narrower selector": ({"selector": {"app": "web"}}, []),
    "none wanted": ({"replicas": 0}, []),
    "ports on the node's network, which its pods will say": (_on_the_network({}), []),
    "other ports on the node's network": (
        _on_the_network({"hostPort": 81}),
        [
            "spec.template.spec.containers[0].ports[0].hostPort: Invalid value: 81: "
            "must match `containerPort` when `hostNetwork` is true"
        ],
    ),
    "fewer than none": (
        {"replicas": -1},
        ["spec.replicas: Invalid value: -1: must be greater than or equal to 0"],
    ),
    "a selector that its pods do not fit": (
        {"selector": {"app": "db"}},
        [
            "spec.template.metadata.labels: Invalid value: "
            '{"app":"web","tier":"a"}: `selector` does not match template `labels`'
        ],
    ),
    "no template": (
        {"template": None, "selector": {"app": "web"}},
        ["spec.template: Required value"],
    ),
    "nothing to select by": (
        {"template": {"metadata": {"labels": None}}},
        ["spec.selector: Required value"],
    ),
    "pods that end": (
        {"template": {"spec": {"restartPolicy": "Never"}}},
        [
            'spec.template.spec.restartPolicy: Unsupported value: "Never": '
            'supported values: "Always"'
        ],
    ),
    "pods that are wrong are told where": (
        {"template": {"spec": {"containers": [{"name": "c"}]}}},
        ["spec.template.spec.containers[0].image: Required value"],
    ),
    "debuggers": (
        {"template": {"spec": {"ephemeralContainers": [{"name": "d", "image": "x"}]}}},
        [
            "spec.template.spec.ephemeralContainers: Forbidden: "
            "ephemeral containers not allowed in pod template"
        ],
    ),
}


@pytest.mark.parametrize(("spec", "complaints"), TEMPLATES.values(), ids=TEMPLATES)
def test_replication_controller(spec: Doc, complaints: list[str]) -> None:
    assert create(REPLICATION_CONTROLLER, merged(CONTROLLER, {"spec": spec})) == complaints


COUNTS: dict[str, tuple[Doc, list[str]]] = {
    "all of them ready": ({"replicas": 2, "readyReplicas": 2, "availableReplicas": 2}, []),
    "more ready than there are": (
        {"replicas": 1, "readyReplicas": 2},
        ["status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas"],
    ),
    "more available than ready": (
        {"replicas": 1, "availableReplicas": 1},
        ["status.availableReplicas: Invalid value: 1: cannot be greater than readyReplicas"],
    ),
    "fewer than none": (
        {"replicas": -1, "fullyLabeledReplicas": -1, "readyReplicas": -2, "availableReplicas": -2},
        [
            f"status.{field}: Invalid value: {count}: must be greater than or equal to 0"
            for field, count in (
                ("replicas", -1),
                ("fullyLabeledReplicas", -1),
                ("readyReplicas", -2),
                ("availableReplicas", -2),
            )
        ],
    ),
}


@pytest.mark.parametrize(("status", "complaints"), COUNTS.values(), ids=COUNTS)
def test_status_of_a_controller(status: Doc, complaints: list[str]) -> None:
    stored = created(REPLICATION_CONTROLLER, CONTROLLER)
    assert update_status(REPLICATION_CONTROLLER, stored, {"status": status}) == complaints


def test_row_of_a_controller() -> None:
    stored = created(REPLICATION_CONTROLLER, merged(CONTROLLER, {"spec": {"replicas": 3}}))
    stored["status"] = {"replicas": 2, "readyReplicas": 1}
    assert printed(REPLICATION_CONTROLLER, stored) == {
        "Name": "web",
        "Desired": 3,
        "Current": 2,
        "Ready": 1,
        "Age": "27h",
        "Containers": "c",
        "Images": "busybox:1",
        "Selector": "app=web,tier=a",
    }


def test_a_name_that_makes_poor_names_for_pods_is_warned_of() -> None:
    (warning,) = warned(REPLICATION_CONTROLLER, merged(CONTROLLER, {"metadata": {"name": "a.b"}}))
    assert warning.startswith("metadata.name: this is used in Pod names and hostnames")


# services

A_SERVICE: Doc = {
    "metadata": {"name": "web", "namespace": "ns", "creationTimestamp": BEFORE},
    "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
}


def test_a_service_has_no_address_that_nobody_answers_at() -> None:
    spec = created(SERVICE, A_SERVICE)["spec"]
    assert (spec["type"], spec["clusterIP"], spec["clusterIPs"]) == ("ClusterIP", "None", ["None"])
    assert spec["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 80}]


SERVICES: dict[str, tuple[Doc, list[str]]] = {
    "as it is": ({}, []),
    "headless without ports": ({"clusterIP": "None", "ports": None}, []),
    "an address without ports": (
        {"clusterIP": "192.0.2.1", "ports": None},
        ["spec.ports: Required value"],
    ),
    "another type": (
        {"type": "Tunnel"},
        [
            'spec.type: Unsupported value: "Tunnel": supported values: '
            '"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"'
        ],
    ),
    "a name elsewhere that is missing": (
        {"type": "ExternalName"},
        ["spec.externalName: Required value"],
    ),
    "several ports need names": (
        {"ports": [{"port": 80, "name": "a"}, {"port": 81}]},
        ["spec.ports[1].name: Required value"],
    ),
    "names that differ": (
        {"ports": [{"port": 80, "name": "a"}, {"port": 81, "name": "a"}]},
        ['spec.ports[1].name: Duplicate value: "a"'],
    ),
    "a port that is none": (
        {"ports": [{"port": 70000, "protocol": "ICMP"}]},
        [
            "spec.ports[0].port: Invalid value: 70000: must be between 1 and 65535, inclusive",
            'spec.ports[0].protocol: Unsupported value: "ICMP": '
            'supported values: "SCTP", "TCP", "UDP"',
        ],
    ),
}


@pytest.mark.parametrize(("spec", "complaints"), SERVICES.values(), ids=SERVICES)
def test_service(spec: Doc, complaints: list[str]) -> None:
    assert create(SERVICE, merged(A_SERVICE, {"spec": spec})) == complaints


def test_row_of_a_service() -> None:
    assert printed(SERVICE, created(SERVICE, A_SERVICE)) == {
        "Name": "web",
        "Type": "ClusterIP",
        "Cluster-IP": "None",
        "External-IP": "<none>",
        "Port(s)": "80/TCP",
        "Age": "27h",
        "Selector": "app=web",
    }


# ephemeral containers

DEBUGGER = {"name": "debug", "image": "busybox"}
RUNNING: Doc = {
    "metadata": {"name": "p", "namespace": "ns", "uid": "u", "resourceVersion": "7"},
    "spec": {"containers": [{"name": "c", "image": "x"}], "ephemeralContainers": [DEBUGGER]},
    "status": {"phase": "Running"},
}
PART = POD.strategies["ephemeralcontainers"]


def test_of_a_write_only_the_ephemeral_containers_count() -> None:
    new = merged(RUNNING, {"metadata": {"labels": {"a": "b"}}, "status": None})
    new["spec"] = {"ephemeralContainers": [DEBUGGER, {"name": "more", "image": "y"}]}
    PART.prepare(new, RUNNING, Context(now=NOW))
    assert new == merged(
        RUNNING, {"spec": {"ephemeralContainers": [DEBUGGER, {"name": "more", "image": "y"}]}}
    )


KEPT: dict[str, tuple[list[Doc], list[str]]] = {
    "one more": ([DEBUGGER, {"name": "more", "image": "y"}], []),
    "in another order": ([{"name": "more", "image": "y"}, DEBUGGER], []),
    "one less": (
        [],
        [
            "spec.ephemeralContainers: Forbidden: "
            'existing ephemeral containers "debug" may not be removed\n'
        ],
    ),
    "changed": (
        [{**DEBUGGER, "image": "other"}],
        [
            "spec.ephemeralContainers: Forbidden: "
            'existing ephemeral containers "debug" may not be changed\n'
            'spec.ephemeralContainers.image: "busybox" -> "other"'
        ],
    ),
}


@pytest.mark.parametrize(("now", "complaints"), KEPT.values(), ids=KEPT)
def test_ephemeral_containers_stay(now: list[Doc], complaints: list[str]) -> None:
    new = merged(RUNNING, {"spec": {"ephemeralContainers": now}})
    assert [str(error) for error in PART.validate(new, RUNNING)] == complaints


def test_pods_from_files_get_none() -> None:
    mirror = {"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}}
    old = merged(RUNNING, mirror)
    (error,) = PART.validate(old, old)
    assert str(error) == ": Forbidden: static pods do not support ephemeral containers"


def test_the_main_path_still_leaves_them_alone() -> None:
    assert updated(POD, RUNNING, RUNNING)["spec"]["ephemeralContainers"][0]["name"] == "debug"
