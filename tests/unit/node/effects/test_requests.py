"""How a pod wants its files."""

from pathlib import Path

import pytest

from mooring.model.container import Container, ContainerSecurity
from mooring.model.meta import ObjectMeta
from mooring.model.pod import Pod, PodSecurity, PodSpec
from mooring.node.effects.requests import find_common_user
from mooring.plugins.contract import OwnershipPolicy
from tests.unit.node.effects.world import NodeWorld, a_pod, a_use


def a_container(user: int | None = None) -> Container:
    return Container("c", security_context=ContainerSecurity(run_as_user=user))


def pod_of(
    *containers: Container,
    user: int | None = None,
    init: tuple[Container, ...] = (),
    debug: tuple[Container, ...] = (),
) -> Pod:
    return Pod(
        metadata=ObjectMeta(name="p1", namespace="default", uid="p1"),
        spec=PodSpec(
            containers=containers,
            init_containers=init,
            ephemeral_containers=debug,
            security_context=PodSecurity(run_as_user=user),
        ),
    )


USERS: dict[str, tuple[Pod, int | None]] = {
    "nobody says anything": (pod_of(Container("c")), None),
    "the pod says it for all": (pod_of(Container("c"), a_container(), user=7), 7),
    "all containers say the same": (pod_of(a_container(7), a_container(7)), 7),
    "a container overrules the pod": (pod_of(a_container(8), user=7), 8),
    "two say different things": (pod_of(a_container(7), a_container(8)), None),
    "one says nothing": (pod_of(a_container(7), Container("c")), None),
    "the one that says nothing comes first": (pod_of(Container("c"), a_container(7)), None),
    "init containers count": (pod_of(a_container(7), init=(a_container(8),)), None),
    "containers for debugging count": (pod_of(a_container(7), debug=(a_container(8),)), None),
    "root is a user": (pod_of(a_container(0)), 0),
    "no containers": (pod_of(), None),
}


@pytest.mark.parametrize(("pod", "user"), USERS.values(), ids=USERS)
def test_common_user(pod: Pod, user: int | None) -> None:
    assert find_common_user(pod) == user


POLICIES: dict[str | None, OwnershipPolicy] = {
    None: OwnershipPolicy.ALWAYS,
    "Always": OwnershipPolicy.ALWAYS,
    "OnRootMismatch": OwnershipPolicy.ON_ROOT_MISMATCH,
}


@pytest.mark.parametrize(("written", "policy"), POLICIES.items())
async def test_a_plugin_hears_all_that_the_pod_says(
    written: str | None, policy: OwnershipPolicy, tmp_path: Path
) -> None:
    security = PodSecurity(run_as_user=7, fs_group=9, fs_group_change_policy=written)
    spec = PodSpec(containers=(Container("c"),), security_context=security)
    async with NodeWorld(tmp_path) as world:
        pod = Pod(metadata=a_pod("p1").metadata, spec=spec)
        world.want("p1", a_use(), pod=pod, size_limit=5)
        await world.once()
        (request,) = world.backend.requests
        assert (request.fs_user, request.fs_group, request.size_limit) == (7, 9, 5)
        assert request.ownership is policy
