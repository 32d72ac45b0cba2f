"""Containers to be told of in tests."""

from pathlib import Path

import msgspec

from mooring.oci.bundle import BundleContext
from mooring.oci.contract import ContainerSpec, ImageConfig, Owner, RunAsUser, StoredImage
from mooring.oci.users import User

ID = "0123456789abcdef" * 4
OWNER = Owner("default", "web", "uid-7", "main", 2)
IMAGE = StoredImage("sha256:1", ("busybox",), (Path("/layers/1"),), ImageConfig(), 1)


def a_spec(**changes: object) -> ContainerSpec:
    spec = ContainerSpec(
        id=ID,
        owner=OWNER,
        image=IMAGE,
        args=("sh",),
        environment=(),
        working_dir="",
        user=RunAsUser(),
        hostname="web",
        log_path=Path("/logs/main/0.log"),
    )
    return msgspec.structs.replace(spec, **changes)


def surroundings(**changes: object) -> BundleContext:
    around = BundleContext(
        rootfs=Path("/node/containers/1/rootfs"),
        user=User(0, 0, (0,)),
        capabilities=("CHOWN", "KILL", "NET_ADMIN", "SYS_ADMIN"),
    )
    return msgspec.structs.replace(around, **changes)
