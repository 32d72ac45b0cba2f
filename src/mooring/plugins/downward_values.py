"""The downward API's values: fields of the pod, and resources of its containers.

Raises, throughout: ValueError with upstream's text.
"""

from collections.abc import Mapping

from mooring.model import quantity
from mooring.model.container import Container
from mooring.model.names import qualified_name
from mooring.model.pod import Pod
from mooring.model.pod_resources import EPHEMERAL_STORAGE, HUGE_PAGES, MEMORY
from mooring.model.pod_volume import ResourceRef
from mooring.model.quantity import ZERO, Quantity

_CPU = "cpu"
_OF_NODE = (_CPU, MEMORY, EPHEMERAL_STORAGE)  # without a limit, a container may use all there is
_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}


def field_value(pod: Pod, path: str) -> str:
    """`metadata.name`, `metadata.labels`, `metadata.labels['app']` and their like."""
    name, subscript = _split(path)
    if subscript is not None:
        return _entry(pod, path, name, subscript)
    match path:
        case "metadata.annotations":
            return listed(pod.metadata.annotations)
        case "metadata.labels":
            return listed(pod.metadata.labels)
        case "metadata.name":
            return pod.name
        case "metadata.namespace":
            return pod.namespace
        case "metadata.uid":
            return pod.uid
        case _:
            raise ValueError(f"unsupported fieldPath: {path}")


def listed(entries: Mapping[str, str]) -> str:
    """One `key="value"` a line, by key."""
    return "\n".join(f"{key}={quoted(entries[key])}" for key in sorted(entries))


def quoted(text: str) -> str:
    """The text as Go quotes it. Which characters can be seen is for Python's Unicode to say."""
    return '"' + "".join(_ESCAPES.get(character) or _shown(character) for character in text) + '"'


def resource_value(ref: ResourceRef, pod: Pod, allocatable: Mapping[str, str]) -> str:
    """A request or limit in units of the divisor, rounded up."""
    container = _get_container(pod, ref.container_name)
    which, _, resource = ref.resource.partition(".")
    is_known = resource in _OF_NODE or resource.startswith(HUGE_PAGES)
    if which not in ("limits", "requests") or not is_known:
        raise ValueError(f"unsupported container resource : {ref.resource}")
    amounts = container.resources.limits if which == "limits" else container.resources.requests
    amount = quantity.parse(amounts.get(resource, "0"))
    if which == "limits" and amount == ZERO and resource in _OF_NODE:
        amount = quantity.parse(allocatable.get(resource, "0"))
    divisor = quantity.parse(ref.divisor)
    if divisor == ZERO:
        divisor = quantity.from_bytes(1)
    return str(-(-_whole(amount, resource) // _whole(divisor, resource)))


def _split(path: str) -> tuple[str, str | None]:
    if path.endswith("']"):
        name, bracket, subscript = path.removesuffix("']").partition("['")
        if name and bracket:
            return name, subscript
    return path, None


def _entry(pod: Pod, path: str, name: str, key: str) -> str:
    """One label or annotation; "" when the pod has none such."""
    match name:
        case "metadata.annotations":
            entries, problems = pod.metadata.annotations, qualified_name(key.lower())
        case "metadata.labels":
            entries, problems = pod.metadata.labels, qualified_name(key)
        case _:
            raise ValueError(f"fieldPath {quoted(path)} does not support subscript")
    if text := ";".join(problems):
        raise ValueError(f"invalid key subscript in {path}: {text}")
    return entries.get(key, "")


def _shown(character: str) -> str:
    code = ord(character)
    if character.isprintable():
        return character
    if code < ord(" ") or code == 0x7F:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _get_container(pod: Pod, name: str) -> Container:
    for container in (*pod.spec.containers, *pod.spec.init_containers):
        if container.name == name:
            return container
    raise ValueError(f"container {name} not found")


def _whole(amount: Quantity, resource: str) -> int:
    """Thousandths of a processor, or bytes; a started one counts."""
    if resource == _CPU:
        return int(amount.milli_ceil().value * 1000)
    return amount.bytes_ceil()
