from typing import Any

import pytest

from mooring.apiserver.kinds.pod.defaults import defaults, pull_policy
from mooring.apiserver.kinds.pod.pod import POD
from mooring.model.document import Doc
from tests.unit.apiserver.kinds.pods import a_container, a_pod
from tests.unit.apiserver.kinds.writing import created


def at(doc: Any, path: str) -> Any:
    for step in path.split("/"):
        doc = doc[int(step)] if step.isdecimal() else doc.get(step)
    return doc


def in_volume(**source: Any) -> Doc:
    return a_pod(volumes=[{"name": "v", **source}])


def in_container(**fields: Any) -> Doc:
    return a_pod(a_container(**fields))


C, V = "spec/containers/0", "spec/volumes/0"
PROJECTED = {
    "sources": [
        {"serviceAccountToken": {"path": "token"}},
        {"downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.name"}}]}},
    ]
}
DEFAULTS: dict[str, tuple[Doc, str, Any]] = {
    "containers are restarted": (a_pod(), "spec/restartPolicy", "Always"),
    "names are resolved in the cluster": (a_pod(), "spec/dnsPolicy", "ClusterFirst"),
    "it has half a minute to end": (a_pod(), "spec/terminationGracePeriodSeconds", 30),
    "no time at all is a wish too": (
        a_pod(terminationGracePeriodSeconds=0),
        "spec/terminationGracePeriodSeconds",
        0,
    ),
    "less than nothing is a second": (
        a_pod(terminationGracePeriodSeconds=-5),
        "spec/terminationGracePeriodSeconds",
        1,
    ),
    "the usual scheduler places it": (a_pod(), "spec/schedulerName", "default-scheduler"),
    "its security context is empty": (a_pod(), "spec/securityContext", {}),
    "it is told of services": (a_pod(), "spec/enableServiceLinks", True),
    "unless it does not want to": (
        a_pod(enableServiceLinks=False),
        "spec/enableServiceLinks",
        False,
    ),
    "the account has an older name": (a_pod(), "spec/serviceAccount", "default"),
    "which may be used alone": (
        a_pod(serviceAccountName="", serviceAccount="robot"),
        "spec/serviceAccountName",
        "robot",
    ),
    "the newer one wins": (
        a_pod(serviceAccountName="new", serviceAccount="old"),
        "spec/serviceAccount",
        "new",
    ),
    "last words go to a file": (a_pod(), f"{C}/terminationMessagePath", "/dev/termination-log"),
    "and only there": (a_pod(), f"{C}/terminationMessagePolicy", "File"),
    "resources are always shown": (a_pod(), f"{C}/resources", {}),
    "what is limited is asked for": (
        in_container(resources={"limits": {"cpu": "2", "memory": "1Gi"}}),
        f"{C}/resources/requests",
        {"cpu": "2", "memory": "1Gi"},
    ),
    "unless less is asked for": (
        in_container(resources={"limits": {"cpu": "2"}, "requests": {"cpu": "1"}}),
        f"{C}/resources/requests",
        {"cpu": "1"},
    ),
    "a port speaks TCP": (
        in_container(ports=[{"containerPort": 80}]),
        f"{C}/ports/0/protocol",
        "TCP",
    ),
    "on the host's network a port is the host's": (
        a_pod(a_container(ports=[{"containerPort": 80}]), hostNetwork=True),
        f"{C}/ports/0/hostPort",
        80,
    ),
    "else it is not": (in_container(ports=[{"containerPort": 80}]), f"{C}/ports/0/hostPort", None),
    "a field of a pod is one of v1": (
        in_container(
            env=[{"name": "N", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}]
        ),
        f"{C}/env/0/valueFrom/fieldRef/apiVersion",
        "v1",
    ),
    "a probe has its times": (
        in_container(livenessProbe={"exec": {"command": ["true"]}}),
        f"{C}/livenessProbe",
        {
            "exec": {"command": ["true"]},
            "timeoutSeconds": 1,
            "periodSeconds": 10,
            "successThreshold": 1,
            "failureThreshold": 3,
        },
    ),
    "a probe asks for the root": (
        in_container(readinessProbe={"httpGet": {"port": 80}}),
        f"{C}/readinessProbe/httpGet",
        {"port": 80, "path": "/", "scheme": "HTTP"},
    ),
    "a probe asks the whole server": (
        in_container(startupProbe={"grpc": {"port": 80}}),
        f"{C}/startupProbe/grpc/service",
        "",
    ),
    "so does a hook": (
        in_container(lifecycle={"preStop": {"httpGet": {"port": 80}}}),
        f"{C}/lifecycle/preStop/httpGet/path",
        "/",
    ),
    "containers that run first have defaults too": (
        a_pod(initContainers=[a_container(name="i")]),
        "spec/initContainers/0/terminationMessagePolicy",
        "File",
    ),
    "a volume without a source is an empty directory": (
        in_volume(),
        V,
        {"name": "v", "emptyDir": {}},
    ),
    "one with a source is not": (
        in_volume(persistentVolumeClaim={"claimName": "data"}),
        f"{V}/emptyDir",
        None,
    ),
    "files of secrets are 0644": (
        in_volume(secret={"secretName": "s"}),
        f"{V}/secret/defaultMode",
        420,
    ),
    "files of config maps are 0644": (
        in_volume(configMap={"name": "c"}),
        f"{V}/configMap/defaultMode",
        420,
    ),
    "files about the pod are 0644": (
        in_volume(downwardAPI={}),
        f"{V}/downwardAPI/defaultMode",
        420,
    ),
    "projected files are 0644": (in_volume(projected={}), f"{V}/projected/defaultMode", 420),
    "another mode stays": (
        in_volume(secret={"secretName": "s", "defaultMode": 0}),
        f"{V}/secret/defaultMode",
        0,
    ),
    "a projected token lasts an hour": (
        in_volume(projected=PROJECTED),
        f"{V}/projected/sources/0/serviceAccountToken/expirationSeconds",
        3600,
    ),
    "a projected field is one of v1": (
        in_volume(projected=PROJECTED),
        f"{V}/projected/sources/1/downwardAPI/items/0/fieldRef/apiVersion",
        "v1",
    ),
    "a path on the host may be anything": (
        in_volume(hostPath={"path": "/tmp"}),  # noqa: S108  a path in a document
        f"{V}/hostPath/type",
        "",
    ),
    "an iSCSI disk has an interface": (
        in_volume(iscsi={"targetPortal": "10.0.0.1", "iqn": "iqn.x", "lun": 1}),
        f"{V}/iscsi/iscsiInterface",
        "default",
    ),
    "a claim made for the pod is for files": (
        in_volume(ephemeral={"volumeClaimTemplate": {"spec": {}}}),
        f"{V}/ephemeral/volumeClaimTemplate/spec/volumeMode",
        "Filesystem",
    ),
    "an image as a volume is fetched like any other": (
        in_volume(image={"reference": "data:1"}),
        f"{V}/image/pullPolicy",
        "IfNotPresent",
    ),
}


@pytest.mark.parametrize(("pod", "path", "value"), DEFAULTS.values(), ids=DEFAULTS)
def test_defaults(pod: Doc, path: str, value: Any) -> None:
    assert at(created(POD, pod), path) == value


def test_defaults_given_twice_change_nothing() -> None:
    once = created(
        POD, a_pod(a_container(resources={"limits": {"cpu": "1"}}), volumes=[{"name": "v"}])
    )
    twice = created(POD, once)
    assert twice == once


IMAGES = {
    "no tag means the latest": ("busybox", "Always"),
    "the latest changes": ("busybox:latest", "Always"),
    "a tag stays": ("busybox:1.36", "IfNotPresent"),
    "a registry's port is no tag": ("registry:5000/busybox", "Always"),
    "a tag behind a registry's port": ("registry:5000/library/busybox:1", "IfNotPresent"),
    "a digest stays": ("busybox@sha256:abc", "IfNotPresent"),
    "a digest of what was the latest": ("busybox:latest@sha256:abc", "Always"),
    "a digest of a tag": ("busybox:1@sha256:abc", "IfNotPresent"),
}


@pytest.mark.parametrize(("image", "policy"), IMAGES.values(), ids=IMAGES)
def test_when_an_image_is_fetched(image: str, policy: str) -> None:
    assert pull_policy(image) == policy
    assert at(created(POD, in_container(image=image)), f"{C}/imagePullPolicy") == policy


ADDRESSES: dict[str, tuple[Doc, Doc]] = {
    "one address is the first of several": (
        {"podIP": "10.0.0.1"},
        {"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]},
    ),
    "the first of several is the one": (
        {"podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]},
        {"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]},
    ),
    "where the two differ, the older field decides": (
        {"podIP": "10.0.0.1", "podIPs": [{"ip": "10.9.9.9"}]},
        {"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]},
    ),
}


@pytest.mark.parametrize(("status", "then"), ADDRESSES.values(), ids=ADDRESSES)
def test_addresses(status: Doc, then: Doc) -> None:
    pod = a_pod(status=status)
    defaults(pod)
    assert pod["status"] == then
