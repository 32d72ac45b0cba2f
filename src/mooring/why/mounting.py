"""Staging and publishing: what the kubelet says of the mounts of a pod, in its events.

What a kubelet has mounted is not in the API. Its events are: a step that failed is quoted with the
event as its source, and a step of which nothing is said is not judged.
"""

import re
from collections.abc import Iterator, Sequence

from mooring.model.claim import Claim
from mooring.model.event import Event
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.model.pod_volume import PodVolume
from mooring.model.volume import Volume
from mooring.why.answer import Fix, Ref, State, Step
from mooring.why.found import Found, is_plain, kubectl, link, newest_event, ref, reporter
from mooring.why.refusal import fix_refused, missing_secret, with_meaning
from mooring.why.world import World

FAILED = frozenset({"FailedMount", "FailedMapVolume", "FailedAttachVolume"})
_STAGING = re.compile(r"MountDevice|MapVolume\.WaitForAttach|NodeStage|SetUpDevice|WaitForAttach")
_MISSING = re.compile(
    r'(secret|configmap)s? "([^"]+)" not found|object "[^"/]+"/"([^"]+)" not registered'
)
_KEY = re.compile(r"references non-existent (?:secret|config) key: (\S+)")
_HANGS = re.compile(r"deadline ?exceeded|timed out|has not returned|still running", re.IGNORECASE)


def explain_mounting(world: World, pod: Pod) -> Found:
    said = newest_event(world, pod, FAILED)
    who = f"the kubelet of {pod.spec.node_name}"
    if said is None or said.reason == "FailedAttachVolume":
        if not pod.spec.volumes:
            return Found()
        words = "nothing is known of it: the kubelet has said nothing"
        return link(Step.STAGING, pod, State.SKIPPED, words).plus(
            link(Step.PUBLISHING, pod, State.SKIPPED, words)
        )
    words = f"{reporter(said)} says: {with_meaning(said.message)}"
    if _HANGS.search(said.message):
        words = f"{words} (a call has not been answered in time; it is asked again)"
    step = Step.STAGING if _STAGING.search(said.message) else Step.PUBLISHING
    first = said.first_timestamp or said.last_seen
    found = link(step, pod, State.BROKEN, words, source=ref(said), since=first, who=who)
    if step is Step.PUBLISHING and pod.spec.volumes:
        done = "it is being published, so it is staged, or need not be"
        found = link(Step.STAGING, pod, State.DONE, done, source=ref(said)).plus(found)
    return found.plus(Found(fixes=tuple(_fixes(volumes_of(world, pod), pod, said))))


def _fixes(volumes: Sequence[Volume], pod: Pod, said: Event) -> Iterator[Fix]:
    driver = next((x.spec.csi.driver for x in volumes if x.spec.csi is not None), "")
    if missing_secret(said.message) is not None:
        yield from fix_refused(driver, said.message)
        return
    if missing := _MISSING.search(said.message):
        name = missing[2] or missing[3]
        kind = missing[1] or _kind_of(pod, name)
        keys = list(_keys(pod, kind, name))
        if not is_plain(name, *keys):
            return
        literals = [f"--from-literal={key}=VALUE" for key in keys] or ["--from-literal=KEY=VALUE"]
        word = "secret generic" if kind == "secret" else "configmap"
        command = f"kubectl create {word} {name} -n {pod.namespace} {' '.join(literals)}"
        yield Fix(command, f"makes the {kind}; put the real value in place of VALUE")
        return
    if missing := _KEY.search(said.message):
        name, kind = _holder_of(pod, missing[1])
        if name and is_plain(missing[1]):
            field = "stringData" if kind == "secret" else "data"
            patch = f'{{"{field}":{{"{missing[1]}":"VALUE"}}}}'
            about = Ref(kind, name, pod.namespace)
            told = f"adds the key {missing[1]}; put the real value in place of VALUE"
            yield Fix(kubectl("patch", about, "-p", patch), told)
            return
    if _HANGS.search(said.message):
        told = "makes the kubelet give the volume up; whoever made the pod makes another"
        yield Fix(kubectl("delete", ref(pod), "--wait=false"), told)
    yield from fix_refused(driver, said.message)


def volumes_of(world: World, pod: Pod) -> list[Volume]:
    claims = (world.find(Claim, key) for key in pod.claim_keys())
    keys = (Key("", claim.spec.volume_name) for claim in claims if claim is not None)
    return [volume for key in keys if (volume := world.find(Volume, key)) is not None]


def _kind_of(pod: Pod, name: str) -> str:
    is_secret = any(
        volume.secret is not None and volume.secret.secret_name == name
        for volume in pod.spec.volumes
    )
    return "secret" if is_secret else "configmap"


def _keys(pod: Pod, kind: str, name: str) -> Iterator[str]:
    for volume in pod.spec.volumes:
        yield from _wanted_keys(volume, kind, name)


def _wanted_keys(volume: PodVolume, kind: str, name: str) -> Iterator[str]:
    if kind == "secret" and volume.secret is not None and volume.secret.secret_name == name:
        yield from (item.key for item in volume.secret.items)
    if kind == "configmap" and volume.config_map is not None and volume.config_map.name == name:
        yield from (item.key for item in volume.config_map.items)


def _holder_of(pod: Pod, key: str) -> tuple[str, str]:
    """The secret or config map that a volume of the pod wants this key of."""
    for volume in pod.spec.volumes:
        if volume.secret is not None and key in {item.key for item in volume.secret.items}:
            return volume.secret.secret_name, "secret"
        if volume.config_map is not None and key in {i.key for i in volume.config_map.items}:
            return volume.config_map.name, "configmap"
    return "", ""
