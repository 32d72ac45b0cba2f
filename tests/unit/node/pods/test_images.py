"""Whether an image is used as it is, pulled, or replaced by the host's root."""

import pytest
from msgspec.structs import replace

from mooring.node.pods.images import ImageChoice, ImageView, decide_image, default_policy
from mooring.oci.contract import StoredImage
from mooring.oci.reference import parse
from tests.unit.node.pods.things import an_image

NAME = "quay.io/tool:1"
IMPORTED = replace(an_image(), names=(NAME,))
PULLED = replace(an_image(), names=(NAME,), pulled_names=(NAME,))
USE, PULL, HOST, NEVER = (
    ImageChoice.USE,
    ImageChoice.PULL,
    ImageChoice.HOST_ROOT,
    ImageChoice.NEVER,
)


@pytest.mark.parametrize(
    ("found", "policy", "pulls", "chosen"),
    [
        (PULLED, "Always", True, PULL),
        (PULLED, "Always", False, USE),
        (PULLED, "IfNotPresent", True, USE),
        (PULLED, "Never", True, USE),
        (PULLED, "", True, USE),
        (IMPORTED, "Always", True, USE),
        (IMPORTED, "IfNotPresent", True, USE),
        (None, "Always", True, PULL),
        (None, "IfNotPresent", True, PULL),
        (None, "Always", False, PULL),  # which says that this node pulls none
        (None, "Never", True, NEVER),
        (None, "Never", False, NEVER),
    ],
)
def test_without_a_stand_in(
    found: StoredImage | None,
    policy: str,
    pulls: bool,  # noqa: FBT001
    chosen: ImageChoice,
) -> None:
    assert decide_image(ImageView(NAME, policy, found, pulls, host_rootfs=False)) is chosen


@pytest.mark.parametrize(
    ("name", "policy", "pulls", "chosen"),
    [
        ("busybox", "Always", True, HOST),
        ("team/tool:1", "IfNotPresent", True, HOST),
        ("quay.io/tool:1", "IfNotPresent", True, PULL),
        ("docker.io/library/busybox", "Always", True, PULL),
        ("quay.io/tool:1", "IfNotPresent", False, HOST),
        ("quay.io/tool:1", "Never", True, HOST),
    ],
)
def test_with_the_hosts_root_as_a_stand_in(
    name: str,
    policy: str,
    pulls: bool,  # noqa: FBT001
    chosen: ImageChoice,
) -> None:
    assert decide_image(ImageView(name, policy, None, pulls, host_rootfs=True)) is chosen


@pytest.mark.parametrize(
    ("name", "policy"),
    [
        ("tool", "Always"),
        ("tool:latest", "Always"),
        ("tool:1", "IfNotPresent"),
        (f"tool@sha256:{'a' * 64}", "IfNotPresent"),
        (f"tool:latest@sha256:{'a' * 64}", "IfNotPresent"),
    ],
)
def test_default_policies(name: str, policy: str) -> None:
    assert default_policy(parse(name)) == policy
