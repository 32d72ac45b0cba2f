"""A pod that has ended: how, and of one that was evicted which limit of storage it exceeded."""

import re
from collections.abc import Iterator

import msgspec

from mooring.model import quantity
from mooring.model.container import Container
from mooring.model.pod import Pod, PodPhase
from mooring.model.pod_resources import EPHEMERAL_STORAGE
from mooring.why.answer import Fix, Ref, State, Step
from mooring.why.found import Found, kubectl, link, recreated, ref, sed_value
from mooring.why.template import find_template

_EVICTED = "Evicted"
_LIMITS = f"limits.{EPHEMERAL_STORAGE}"

# what kubelets say
_OF_POD = re.compile(r"Pod ephemeral local storage usage exceeds the total limit of containers")
_OF_CONTAINER = re.compile(r"Container (\S+) exceeded its local ephemeral storage limit")
_OF_VOLUME = re.compile(r'Usage of EmptyDir volume "([^"]+)" exceeds the limit')


class _Exceeded(msgspec.Struct, frozen=True):
    """The field that limits storage; each container or volume with its limit, doubled."""

    says: str
    told: str  # of the command
    containers: tuple[tuple[str, str, str], ...] = ()  # name, limit, twice the limit
    volume: tuple[str, str, str] | None = None


def explain_ended(pod: Pod) -> Found:
    status, is_evicted = pod.status, pod.status.reason == _EVICTED
    state = State.DONE if status.phase is PodPhase.SUCCEEDED else State.BROKEN
    exceeded = _find_exceeded(pod) if is_evicted else None
    if exceeded is not None:
        words = f"it has ended: {status.phase} ({_EVICTED}): {exceeded.says}"
        found = link(Step.CONTAINER, pod, state, words, who="whoever set the limit")
        return found.plus(Found(fixes=(*_raised(pod, exceeded), *_deleted(pod))))
    said = status.message.strip() or status.reason
    words = f"it has ended: {status.phase}{f' ({said})' if said else ''}"
    found = link(Step.CONTAINER, pod, state, words)
    if state is State.DONE:
        return found
    return found.plus(Found(fixes=(*_again(pod), *_deleted(pod))))


def _again(pod: Pod) -> Iterator[Fix]:
    if pod.metadata.find_controller() is None:
        yield Fix(recreated(ref(pod)), "makes it anew, as it is")


def _deleted(pod: Pod) -> Iterator[Fix]:
    is_replaced = pod.metadata.find_controller() is not None
    rest = (
        "so that whoever made it makes another one" if is_replaced else "and nobody makes it anew"
    )
    yield Fix(kubectl("delete", ref(pod)), f"deletes it, {rest}")


def _find_exceeded(pod: Pod) -> _Exceeded | None:
    """None: it went for another reason, as a node that is short of disk."""
    message = pod.status.message
    if found := _OF_VOLUME.search(message):
        return _volume_exceeded(pod, found[1])
    containers = (*pod.spec.init_containers, *pod.spec.containers)
    limited = [each for each in containers if EPHEMERAL_STORAGE in each.resources.limits]
    if found := _OF_CONTAINER.search(message):
        limited = [each for each in limited if each.name == found[1]]
        whose = f"container {found[1]}"
    elif _OF_POD.search(message):
        several = "container" if len(limited) == 1 else "containers"
        whose = f"its {several} {', '.join(each.name for each in limited)}"
    else:
        return None
    if not limited:
        return None
    limits = ", ".join(_limit(each) for each in limited)
    return _Exceeded(
        f"it stored more than {_LIMITS} of {whose} allows ({limits}): raise it, or store less",
        f"with twice {_LIMITS}; or let it store less",
        containers=tuple((each.name, _limit(each), _twice(_limit(each))) for each in limited),
    )


def _volume_exceeded(pod: Pod, name: str) -> _Exceeded | None:
    limits = (
        each.empty_dir.size_limit
        for each in pod.spec.volumes
        if each.name == name and each.empty_dir is not None
    )
    limit = next(limits, None)
    if limit is None:
        return None
    return _Exceeded(
        f"it stored more than sizeLimit of emptyDir {name} allows ({limit}): raise it, or store "
        "less",
        f"with twice sizeLimit of emptyDir {name}; or let it store less",
        volume=(name, limit, _twice(limit)),
    )


def _limit(container: Container) -> str:
    return container.resources.limits[EPHEMERAL_STORAGE]


def _twice(limit: str) -> str:
    found = quantity.parse(limit)
    return str(quantity.Quantity(found.nanos * 2, found.form))


def _raised(pod: Pod, exceeded: _Exceeded) -> Iterator[Fix]:
    if pod.metadata.find_controller() is None:
        yield Fix(recreated(ref(pod), *_edits(pod, exceeded)), f"makes it anew, {exceeded.told}")
        return
    maker = find_template(pod)
    if maker is not None:
        told = f"makes the pods of {maker.kind} {maker.name} anew, {exceeded.told}"
        yield Fix(_set(maker, exceeded), told)


def _edits(pod: Pod, exceeded: _Exceeded) -> Iterator[str]:
    """Every limit is doubled, that no request of the same amount becomes larger than its limit;
    the largest first, that none is doubled twice."""
    if exceeded.volume is not None:
        _, old, new = exceeded.volume
        yield sed_value("sizeLimit", old, new)
        return
    containers = (*pod.spec.init_containers, *pod.spec.containers)
    limits = {_limit(it) for it in containers if EPHEMERAL_STORAGE in it.resources.limits}
    for old in sorted(limits, key=quantity.parse, reverse=True):
        yield sed_value(EPHEMERAL_STORAGE, old, _twice(old))


def _set(maker: Ref, exceeded: _Exceeded) -> str:
    if exceeded.volume is not None:
        name, _, new = exceeded.volume
        volumes = f'[{{"name":"{name}","emptyDir":{{"sizeLimit":"{new}"}}}}]'
        return kubectl(
            "patch", maker, "-p", f'{{"spec":{{"template":{{"spec":{{"volumes":{volumes}}}}}}}}}'
        )
    return " && ".join(
        kubectl("set resources", maker, "-c", name, f"--limits={EPHEMERAL_STORAGE}={new}")
        for name, _, new in exceeded.containers
    )
