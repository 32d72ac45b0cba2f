"""LimitRange: how much each pod, container or claim of a namespace may take."""

from collections.abc import Iterable

from mooring.apiserver.kinds.contract import Kind
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, duplicate, forbidden, invalid, required
from mooring.model.names import qualified_name
from mooring.model.quantity import Quantity, parse

CONTAINER, POD, CLAIM = "Container", "Pod", "PersistentVolumeClaim"
_ONE = parse("1")
_AMOUNTS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
# (greater, path, lesser): what may not be greater than what, and in which words
_ORDER = (
    ("min", "min", "max", "min value {} is greater than max value {}"),
    (
        "min",
        "defaultRequest",
        "defaultRequest",
        "min value {} is greater than default request value {}",
    ),
    (
        "defaultRequest",
        "defaultRequest",
        "max",
        "default request value {} is greater than max value {}",
    ),
    (
        "defaultRequest",
        "defaultRequest",
        "default",
        "default request value {} is greater than default limit value {}",
    ),
    ("min", "default", "default", "min value {} is greater than default value {}"),
    ("default", "default", "max", "default value {} is greater than max value {}"),
)


def _defaults(doc: Doc) -> None:
    for limit in doc.setdefault("spec", {}).get("limits") or ():
        if limit.get("type") != CONTAINER:
            continue
        default = limit.setdefault("default", {})
        requests = limit.setdefault("defaultRequest", {})
        for name, amount in (limit.get("max") or {}).items():
            default.setdefault(name, amount)
        for name, amount in default.items():
            requests.setdefault(name, amount)
        for name, amount in (limit.get("min") or {}).items():
            requests.setdefault(name, amount)


def _validate(doc: Doc) -> Iterable[FieldError]:
    seen: set[str] = set()
    for index, limit in enumerate(doc["spec"].get("limits") or ()):
        path, kind = f"spec.limits[{index}]", limit.get("type", "")
        for problem in qualified_name(kind):
            yield invalid(f"{path}.type", kind, problem)
        if kind in seen:
            yield duplicate(f"{path}.type", kind)
        seen.add(kind)
        yield from _validate_limit(limit, kind, path)


def _validate_limit(limit: Doc, kind: str, path: str) -> Iterable[FieldError]:
    if kind == POD:
        for field in ("default", "defaultRequest"):
            if limit.get(field):
                yield forbidden(f"{path}.{field}", "may not be specified when `type` is 'Pod'")
    if kind == CLAIM and not any("storage" in (limit.get(f) or {}) for f in ("min", "max")):
        why = "either minimum or maximum storage value is required, but neither was provided"
        yield required(f"{path}.limits", why)
    amounts: dict[str, dict[str, Quantity]] = {
        field: {name: parse(text) for name, text in (limit.get(field) or {}).items()}
        for field in _AMOUNTS
    }
    for greater, where, lesser, told in _ORDER:
        for name in sorted(amounts[greater].keys() & amounts[lesser].keys()):
            one, other = amounts[greater][name], amounts[lesser][name]
            if one > other:
                at = f"{path}.{where}[{name}]"
                yield invalid(at, str(one), told.format(one, other))
    for name, ratio in amounts["maxLimitRequestRatio"].items():
        if ratio < _ONE:
            why = f"ratio {ratio} is less than 1"
            yield invalid(f"{path}.maxLimitRequestRatio[{name}]", str(ratio), why)


LIMIT_RANGE = Kind(
    group="",
    version="v1",
    kind="LimitRange",
    plural="limitranges",
    message="core.v1.LimitRange",
    namespaced=True,
    short_names=("limits",),
    defaults=_defaults,
    validate=_validate,
    deleted_as_status=True,
)
