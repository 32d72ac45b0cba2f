"""An image that cannot be had: which command puts a better one in its place."""

from typing import Any

import pytest

from mooring.why.answer import Answer, Fix
from mooring.why.explain import explain
from tests.unit.why.test_explain import WEB, pod
from tests.unit.why.worlds import NOW, doc, whole_world

HAS = ("docker.io/library/nginx:1.27", "quay.io/shop/web:v2", "quay.io/shop/web@sha256:00")
DENIED = "pull access denied, repository does not exist or may require authorization"


def waits(reason: str, message: str = "") -> dict[str, Any]:
    return {"waiting": {"reason": reason, "message": message}}


def a_pod(image: str, state: dict[str, Any], *, owner: str = "", **spec: Any) -> dict[str, Any]:
    maker = {"apiVersion": "apps/v1", "kind": owner, "name": "db", "uid": "u", "controller": True}
    status = {"phase": "Pending", "containerStatuses": [{"name": "c", "state": state}]}
    return pod(
        volumes=[],
        nodeName="n1",
        containers=[{"name": "c", "image": image}],
        metadata={"ownerReferences": [maker] if owner else []},
        **{"status": status} | spec,
    )


def explained(*docs: dict[str, Any], images: tuple[str, ...] = HAS) -> Answer:
    ready = [{"type": "Ready", "status": "True"}]
    status = {"conditions": ready, "images": [{"names": list(images)}]}
    return explain(whole_world(doc("Node", "n1", status=status), *docs), WEB, NOW)


def first(answer: Answer) -> Fix:
    assert answer.fixes, answer
    return answer.fixes[0]


@pytest.mark.parametrize(
    ("asked", "taken"),
    [
        ("quay.io/shop/wbe:v2", "quay.io/shop/web:v2"),
        ("nginx:1.72", "docker.io/library/nginx:1.27"),
        ("docker.io/ngnix:1.27", "docker.io/library/nginx:1.27"),
    ],
    ids=["a slip of the finger", "a tag that is not there", "by another of its names"],
)
def test_the_image_of_like_name_that_the_node_has_is_taken(asked: str, taken: str) -> None:
    answer = explained(a_pod(asked, waits("ImagePullBackOff", f'Back-off pulling image "{asked}"')))
    assert "ImagePullBackOff" in answer.summary
    fix = first(answer)
    assert fix.command == f"kubectl set image pod web -n shop c={taken}"
    assert fix.what_it_does == f"takes {taken}, which the node has"


@pytest.mark.parametrize(
    ("asked", "images"),
    [("redis:7", HAS), ("redis:7", ()), ("quay.io/shop/web:v2", ("quay.io/shop/web:v2",))],
    ids=["of other names", "none", "the very one, which must be pulled each time"],
)
def test_where_the_node_has_no_other_like_it_the_name_is_left_open(
    asked: str, images: tuple[str, ...]
) -> None:
    fix = first(explained(a_pod(asked, waits("ErrImagePull")), images=images))
    assert fix.command == "kubectl set image pod web -n shop c=IMAGE"
    assert fix.what_it_does == "put a name that exists for IMAGE"


def test_an_init_container_has_its_own_image() -> None:
    status = {"initContainerStatuses": [{"name": "copy", "state": waits("ErrImagePull")}]}
    starts = [{"name": "copy", "image": "quay.io/shop/wbe:v2"}]
    fix = first(explained(a_pod("redis:7", {}, status=status, initContainers=starts)))
    assert fix.command == "kubectl set image pod web -n shop copy=quay.io/shop/web:v2"


@pytest.mark.parametrize(
    ("owner", "changed", "more"),
    [
        ("StatefulSet", "statefulset db", ""),
        ("DaemonSet", "daemonset db", ""),
        ("ReplicaSet", "pod web", "of this pod alone: change the template of whoever made db, too"),
    ],
)
def test_the_template_is_changed_where_pods_are_made_of_one(
    owner: str, changed: str, more: str
) -> None:
    fix = first(explained(a_pod("nginx:1.72", waits("ErrImagePull"), owner=owner)))
    assert fix.command.startswith(f"kubectl set image {changed} -n shop ")
    assert more in fix.what_it_does


def test_who_is_not_let_in_shows_a_password() -> None:
    named = {"serviceAccountName": "shop"}
    answer = explained(a_pod("quay.io/shop/secret:v1", waits("ErrImagePull", DENIED), **named))
    command = answer.fixes[-1].command
    assert command.startswith("kubectl create secret docker-registry pull -n shop ")
    assert "kubectl patch serviceaccount shop -n shop" in command
    other = explained(a_pod("quay.io/shop/secret:v1", waits("ErrImagePull", "no route to host")))
    assert len(other.fixes) == 1
