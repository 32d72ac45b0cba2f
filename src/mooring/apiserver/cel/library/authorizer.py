"""Questions about rights: `authorizer.group('apps').resource('deployments').check('get')`.

What is asked is gathered here; who answers is given with the variable.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from mooring.apiserver.cel import call_cost
from mooring.apiserver.cel.errors import CelError
from mooring.apiserver.cel.functions import Functions, Overload
from mooring.apiserver.cel.patience import excuse
from mooring.apiserver.cel.types import BOOL, STRING, CelType, opaque
from mooring.apiserver.cel.values import Opaque
from mooring.model.names import dns_label, dns_subdomain

_PREFIX = "kubernetes.authorization."
AUTHORIZER = opaque(f"{_PREFIX}Authorizer")
PATH_CHECK = opaque(f"{_PREFIX}PathCheck")
GROUP_CHECK = opaque(f"{_PREFIX}GroupCheck")
RESOURCE_CHECK = opaque(f"{_PREFIX}ResourceCheck")
DECISION = opaque(f"{_PREFIX}Decision")
_CHECK_COST = 350_000  # two questions fit an expression


@dataclass(frozen=True, slots=True)
class Question:
    """May this user do this? `user` is empty for the user of the request."""

    user: str = ""
    verb: str = ""
    path: str = ""  # of a request that is for no resource
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_selector: str = ""
    label_selector: str = ""


@dataclass(frozen=True, slots=True)
class DecisionValue(Opaque):
    kind: ClassVar[str] = DECISION.name
    allowed: bool
    reason: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class AuthorizerValue(Opaque):
    """The variable `authorizer`."""

    kind: ClassVar[str] = AUTHORIZER.name
    ask: Callable[[Question], DecisionValue]
    question: Question = Question()


@dataclass(frozen=True, slots=True)
class PathValue(Opaque):
    kind: ClassVar[str] = PATH_CHECK.name
    ask: Callable[[Question], DecisionValue]
    question: Question


@dataclass(frozen=True, slots=True)
class GroupValue(Opaque):
    kind: ClassVar[str] = GROUP_CHECK.name
    ask: Callable[[Question], DecisionValue]
    question: Question


@dataclass(frozen=True, slots=True)
class ResourceValue(Opaque):
    """The variable `authorizer.requestResource` too."""

    kind: ClassVar[str] = RESOURCE_CHECK.name
    ask: Callable[[Question], DecisionValue]
    question: Question


def _path(one: AuthorizerValue, path: str) -> PathValue:
    if not path:
        raise CelError("path must not be empty")
    return PathValue(one.ask, replace(one.question, path=path))


def _group(one: AuthorizerValue, group: str) -> GroupValue:
    return GroupValue(one.ask, replace(one.question, group=group))


def _service_account(one: AuthorizerValue, namespace: str, name: str) -> AuthorizerValue:
    if list(dns_subdomain(name)):
        raise CelError(f"Invalid service account name: {', '.join(dns_subdomain(name))}")
    if list(dns_label(namespace)):
        raise CelError(f"Invalid service account namespace: {', '.join(dns_label(namespace))}")
    user = f"system:serviceaccount:{namespace}:{name}"
    return AuthorizerValue(one.ask, replace(one.question, user=user))


def _resource(one: GroupValue, resource: str) -> ResourceValue:
    return ResourceValue(one.ask, replace(one.question, resource=resource))


def _with(field: str) -> Callable[[ResourceValue, str], ResourceValue]:
    def run(one: ResourceValue, value: str) -> ResourceValue:
        return ResourceValue(one.ask, replace(one.question, **{field: value}))

    return run


def _check(one: PathValue | ResourceValue, verb: str) -> DecisionValue:
    excuse(_CHECK_COST)
    return one.ask(replace(one.question, verb=verb))


def _selector_cost(_: ResourceValue, selector: str) -> int:
    return 10 + call_cost.tenth(len(selector)) + -(-len(selector) // 2) * 50


def _member(
    name: str, args: tuple[CelType, ...], result: CelType, run: Any, cost: Any = None
) -> Overload:
    return Overload(name, args, result, run, member=True, cost=cost)


def _narrowed(name: str, field: str, cost: Any = None) -> tuple[Overload, ...]:
    args = (RESOURCE_CHECK, STRING)
    return (_member(name, args, RESOURCE_CHECK, _with(field), cost),)


_check_cost = call_cost.constant(_CHECK_COST)

FUNCTIONS: Functions = {
    "path": (_member("authorizer_path", (AUTHORIZER, STRING), PATH_CHECK, _path),),
    "group": (_member("authorizer_group", (AUTHORIZER, STRING), GROUP_CHECK, _group),),
    "serviceAccount": (
        _member(
            "authorizer_serviceaccount",
            (AUTHORIZER, STRING, STRING),
            AUTHORIZER,
            _service_account,
        ),
    ),
    "resource": (_member("groupcheck_resource", (GROUP_CHECK, STRING), RESOURCE_CHECK, _resource),),
    "subresource": _narrowed("resourcecheck_subresource", "subresource"),
    "namespace": _narrowed("resourcecheck_namespace", "namespace"),
    "name": _narrowed("resourcecheck_name", "name"),
    "fieldSelector": _narrowed("authorizer_fieldselector", "field_selector", _selector_cost),
    "labelSelector": _narrowed("authorizer_labelselector", "label_selector", _selector_cost),
    "check": (
        _member("pathcheck_check", (PATH_CHECK, STRING), DECISION, _check, _check_cost),
        _member("resourcecheck_check", (RESOURCE_CHECK, STRING), DECISION, _check, _check_cost),
    ),
    "errored": (_member("decision_errored", (DECISION,), BOOL, lambda x: bool(x.error)),),
    "error": (_member("decision_error", (DECISION,), STRING, lambda x: x.error),),
    "allowed": (_member("decision_allowed", (DECISION,), BOOL, lambda x: x.allowed),),
    "reason": (_member("decision_reason", (DECISION,), STRING, lambda x: x.reason),),
}
