import pytest

from mooring.model.document import Doc
from tests.unit.apiserver.kinds.pods import a_container, complaints

AT = "spec.containers[0]"
TEMPLATE = {
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
}
VOLUMES = [
    {"name": "files"},
    {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
    {"name": "more", "persistentVolumeClaim": {"claimName": "more"}},
    {"name": "own", "ephemeral": {"volumeClaimTemplate": TEMPLATE}},
]


def of(container: Doc) -> list[str]:
    return complaints(a_container(**container), volumes=VOLUMES)


def mount(name: str = "files", path: str = "/data", **fields: object) -> Doc:
    return {"name": name, "mountPath": path, **fields}


PROPAGATIONS = 'supported values: "Bidirectional", "HostToContainer", "None"'
MOUNTS: dict[str, tuple[list[Doc], list[str]]] = {
    "a volume at a path": ([mount()], []),
    "a volume at two paths": ([mount(), mount(path="/also")], []),
    "the volume must exist": (
        [mount("zz")],
        [f'{AT}.volumeMounts[0].name: Not found: "zz"'],
    ),
    "and be named": (
        [{"mountPath": "/data"}],
        [
            f"{AT}.volumeMounts[0].name: Required value",
            f'{AT}.volumeMounts[0].name: Not found: ""',
        ],
    ),
    "a path is required": (
        [{"name": "files"}],
        [f"{AT}.volumeMounts[0].mountPath: Required value"],
    ),
    "a path is used once": (
        [mount(), mount("data")],
        [f'{AT}.volumeMounts[1].mountPath: Invalid value: "/data": must be unique'],
    ),
    "part of a volume": ([mount(subPath="a/b")], []),
    "a part is relative, told without the index": (
        [mount(path="/x"), mount(subPath="/a")],
        [f'{AT}.volumeMounts.subPath: Invalid value: "/a": must be a relative path'],
    ),
    "a part is never above": (
        [mount(subPath="a/../../b")],
        [f"{AT}.volumeMounts.subPath: Invalid value: \"a/../../b\": must not contain '..'"],
    ),
    "two dots in a name are fine": ([mount(subPath="a..b")], []),
    "a part by expression": ([mount(subPathExpr="$(POD)")], []),
    "which follows the same rules": (
        [mount(subPathExpr="../$(POD)")],
        [f"{AT}.volumeMounts.subPathExpr: Invalid value: \"../$(POD)\": must not contain '..'"],
    ),
    "and excludes the other": (
        [mount(subPath="a", subPathExpr="b")],
        [
            f'{AT}.volumeMounts[0].subPathExpr: Invalid value: "b": '
            "subPathExpr and subPath are mutually exclusive"
        ],
    ),
    "mounts may come from the host": ([mount(mountPropagation="HostToContainer")], []),
    "but not go there": (
        [mount(mountPropagation="Bidirectional")],
        [
            f"{AT}.volumeMounts.mountPropagation: Forbidden: "
            "Bidirectional mount propagation is available only to privileged containers"
        ],
    ),
    "there are three ways": (
        [mount(mountPropagation="Sideways")],
        [f'{AT}.volumeMounts.mountPropagation: Unsupported value: "Sideways": {PROPAGATIONS}'],
    ),
    "read-only all the way down": ([mount(readOnly=True, recursiveReadOnly="Enabled")], []),
    "only if it is read-only at all": (
        [mount(recursiveReadOnly="IfPossible")],
        [
            f"{AT}.volumeMounts.recursiveReadOnly: Forbidden: "
            "may only be specified when readOnly is true"
        ],
    ),
    "and stays inside": (
        [mount(readOnly=True, recursiveReadOnly="Enabled", mountPropagation="HostToContainer")],
        [
            f"{AT}.volumeMounts.recursiveReadOnly: Forbidden: "
            "may only be specified when mountPropagation is None or not specified"
        ],
    ),
    "or not at all": ([mount(recursiveReadOnly="Disabled")], []),
    "or so": (
        [mount(recursiveReadOnly="Maybe")],
        [
            f'{AT}.volumeMounts.recursiveReadOnly: Unsupported value: "Maybe": '
            'supported values: "Disabled", "Enabled", "IfPossible"'
        ],
    ),
}


@pytest.mark.parametrize(("mounts", "expected"), MOUNTS.values(), ids=MOUNTS)
def test_mounts(mounts: list[Doc], expected: list[str]) -> None:
    assert of({"volumeMounts": mounts}) == expected


def test_a_privileged_container_may_mount_on_the_host() -> None:
    mounts = [mount(mountPropagation="Bidirectional")]
    assert of({"volumeMounts": mounts, "securityContext": {"privileged": True}}) == []


def device(name: str = "data", path: str = "/dev/xvda") -> Doc:
    return {"name": name, "devicePath": path}


ONLY_CLAIMS = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
DEVICES: dict[str, tuple[list[Doc], list[Doc], list[str]]] = {
    "a claim at a path": ([device()], [], []),
    "a claim made for the pod": ([device("own")], [], []),
    "nothing but claims": (
        [device("files")],
        [],
        [f'{AT}.volumeDevices[0].name: Invalid value: "files": {ONLY_CLAIMS}'],
    ),
    "the volume must exist": (
        [device("zz")],
        [],
        [f'{AT}.volumeDevices[0].name: Not found: "zz"'],
    ),
    "and be named": (
        [{"devicePath": "/dev/xvda"}],
        [],
        [
            f"{AT}.volumeDevices[0].name: Required value",
            f'{AT}.volumeDevices[0].name: Not found: ""',
        ],
    ),
    "a path is required": (
        [{"name": "data"}],
        [],
        [f"{AT}.volumeDevices[0].devicePath: Required value"],
    ),
    "a path is used once": (
        [device(), device("more")],
        [],
        [f'{AT}.volumeDevices[1].devicePath: Invalid value: "/dev/xvda": must be unique'],
    ),
    "a volume is used once": (
        [device(), device(path="/dev/xvdb")],
        [],
        [f'{AT}.volumeDevices[1].name: Invalid value: "data": must be unique'],
    ),
    "a path never goes up": (
        [device(path="/dev/../x")],
        [],
        [
            f'{AT}.volumeDevices[0].devicePath: Invalid value: "/dev/../x": '
            "can not contain backsteps ('..')"
        ],
    ),
    "a volume is a device or a directory": (
        [device()],
        [mount("data")],
        [
            f'{AT}.volumeMounts[0].name: Invalid value: "data": '
            "must not already exist in volumeDevices",
            f'{AT}.volumeDevices[0].name: Invalid value: "data": '
            "must not already exist in volumeMounts",
        ],
    ),
    "so is a path": (
        [device(path="/data")],
        [mount()],
        [
            f'{AT}.volumeMounts[0].mountPath: Invalid value: "/data": '
            "must not already exist as a path in volumeDevices",
            f'{AT}.volumeDevices[0].devicePath: Invalid value: "/data": '
            "must not already exist as a path in volumeMounts",
        ],
    ),
}


@pytest.mark.parametrize(("devices", "mounts", "expected"), DEVICES.values(), ids=DEVICES)
def test_devices(devices: list[Doc], mounts: list[Doc], expected: list[str]) -> None:
    assert of({"volumeDevices": devices, "volumeMounts": mounts}) == expected


def test_initial_containers_follow_the_same_rules() -> None:
    first = a_container(name="i", volumeMounts=[mount("zz")])
    assert complaints(initContainers=[first], volumes=VOLUMES) == [
        'spec.initContainers[0].volumeMounts[0].name: Not found: "zz"'
    ]
