"""References from a pod to its own fields and resources, in environment variables and files."""

from collections.abc import Iterable

from mooring.model.document import Doc
from mooring.model.field_error import FieldError, invalid, not_supported, required
from mooring.model.names import qualified_name

FOR_ENVIRONMENT = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
FOR_FILES = (
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
)

_EVERYWHERE = frozenset(
    (
        *FOR_ENVIRONMENT,
        *FOR_FILES,
        "spec.restartPolicy",
        "spec.schedulerName",
        "status.phase",
    )
)
_RESOURCES = (
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
)
_HUGE_PAGES = ("limits.hugepages-", "requests.hugepages-")
_CPU_DIVISORS = frozenset(("1", "1m"))
_BYTE_DIVISORS = ("1", *(f"1{unit}" for unit in "kMGTPE"), *(f"1{unit}i" for unit in "KMGTPE"))
_BYTES_LISTED = ", ".join(_BYTE_DIVISORS)
_BYTE_RESOURCES = {
    "memory": "memory",
    "ephemeral-storage": "local ephemeral storage",
}


def validate_field_ref(
    reference: Doc, path: str, supported: tuple[str, ...]
) -> Iterable[FieldError]:
    """Complaints about a `fieldRef`; `supported` are the fields this place can hold, sorted."""
    version, label = reference.get("apiVersion", ""), reference.get("fieldPath", "")
    if not version:
        yield required(f"{path}.apiVersion")
        return
    if not label:
        yield required(f"{path}.fieldPath")
        return
    name, subscript = _split_subscript(label)
    if problem := _conversion_problem(version, label, name, subscript):
        yield invalid(f"{path}.fieldPath", label, f"error converting fieldPath: {problem}")
    elif subscript is not None:
        key = subscript.lower() if name == "metadata.annotations" else subscript
        for text in qualified_name(key):
            yield invalid(path, key, text)
    elif _current(name) not in supported:
        yield not_supported(f"{path}.fieldPath", _current(name), supported)


def _split_subscript(label: str) -> tuple[str, str | None]:
    """`metadata.labels['app']` is the part `app` of `metadata.labels`."""
    name, bracket, rest = label.partition("['")
    if name and bracket and rest.endswith("']"):
        return name, rest.removesuffix("']")
    return label, None


def _conversion_problem(version: str, label: str, name: str, subscript: str | None) -> str:
    if version != "v1":
        return f"unsupported pod version: {version}"
    if subscript is not None:
        if name in ("metadata.annotations", "metadata.labels"):
            return ""
        return f"field label does not support subscript: {label}"
    return "" if _current(name) in _EVERYWHERE else f"field label not supported: {label}"


def _current(name: str) -> str:
    return "spec.nodeName" if name == "spec.host" else name


def validate_file_resource_ref(reference: Doc, path: str) -> Iterable[FieldError]:
    """Complaints about a `resourceFieldRef` of a file, which must say whose resources it means."""
    if not reference.get("containerName"):
        yield required(f"{path}.containerName")
        yield from _validate_divisor(reference, path)
    else:
        yield from validate_resource_ref(reference, path)


def validate_resource_ref(reference: Doc, path: str) -> Iterable[FieldError]:
    resource = reference.get("resource", "")
    if not resource:
        yield required(f"{path}.resource")
    elif resource not in _RESOURCES and not resource.startswith(_HUGE_PAGES):
        yield not_supported(f"{path}.resource", resource, _RESOURCES)
    yield from _validate_divisor(reference, path)


def _validate_divisor(reference: Doc, path: str) -> Iterable[FieldError]:
    divisor = reference.get("divisor", "0")
    if divisor == "0":
        return
    resource = reference.get("resource", "")
    _, _, name = resource.partition(".")
    field = f"{path}.divisor"
    if name == "cpu":
        if divisor not in _CPU_DIVISORS:
            yield invalid(
                field,
                resource,
                "only divisor's values 1m and 1 are supported with the cpu resource",
            )
        return
    what = "hugepages" if name.startswith("hugepages-") else _BYTE_RESOURCES.get(name)
    if what and divisor not in _BYTE_DIVISORS:
        yield invalid(
            field,
            resource,
            f"only divisor's values {_BYTES_LISTED} are supported with the {what} resource",
        )
