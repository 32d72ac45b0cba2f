"""An image that cannot be had: one of like name that the node has, or a place for a better one."""

import re
from collections.abc import Iterator
from difflib import get_close_matches

from mooring.model.keys import Key
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.why.answer import Fix, Ref
from mooring.why.found import kubectl, ref
from mooring.why.world import World

REASONS = frozenset({"ImagePullBackOff", "ErrImagePull", "ErrImageNeverPull", "InvalidImageName"})
_NOT_LET_IN = re.compile(r"unauthorized|denied|forbidden|authentication required", re.IGNORECASE)
_USUAL = re.compile(r"^(docker\.io/)?(library/)?")
_LIKE = 0.6


def fix_image(world: World, pod: Pod, container: str, message: str) -> Iterator[Fix]:
    image = next((one.image for one in pod.spec.all_containers if one.name == container), "")
    near = _nearest(world, pod, image)
    told = f"takes {near}, which the node has" if near else "put a name that exists for IMAGE"
    owner = pod.metadata.find_controller()
    about, rest = ref(pod), ""
    if owner is not None and owner.kind in {"StatefulSet", "DaemonSet"}:
        about = Ref(owner.kind, owner.name, pod.namespace)
    elif owner is not None:
        rest = f"; of this pod alone: change the template of whoever made {owner.name}, too"
    command = kubectl("set image", about, f"{container}={near or 'IMAGE'}")
    yield Fix(command, f"{told}{rest}")
    if _NOT_LET_IN.search(message):
        account = Ref("ServiceAccount", pod.spec.service_account_name or "default", pod.namespace)
        create = f"kubectl create secret docker-registry pull -n {pod.namespace} "
        create += "--docker-server=SERVER --docker-username=USER --docker-password=PASSWORD"
        patch = kubectl("patch", account, "-p", '{"imagePullSecrets":[{"name":"pull"}]}')
        told = "lets new pods of its account pull with a password; put in SERVER, USER, PASSWORD"
        yield Fix(f"{create} && {patch}", told)


def _nearest(world: World, pod: Pod, image: str) -> str:
    """Of the other images on the pod's node; empty: none is like it."""
    node = world.find(Node, Key("", pod.spec.node_name))
    names = () if node is None else (name for one in node.status.images for name in one.names)
    asked = _USUAL.sub("", image)
    known = {_USUAL.sub("", name): name for name in names if "@" not in name}
    known.pop(asked, None)  # the node has it, and may not use it: it must pull each time
    near = get_close_matches(asked, sorted(known), n=1, cutoff=_LIKE)
    return known[near[0]] if near else ""
