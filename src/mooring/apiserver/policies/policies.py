"""Policies that refuse: what their expressions say of a write, and what follows."""

from collections.abc import Iterator, Sequence
from functools import partial

import msgspec

from mooring import log
from mooring.apiserver.admission.contract import AdmissionAttributes, Objects
from mooring.apiserver.admission.judging import Judging
from mooring.apiserver.cel.expression import Budget
from mooring.apiserver.kinds.policy_expressions import PolicyExpressions, compile_policy
from mooring.apiserver.kinds.registry import Kinds
from mooring.apiserver.policies.in_force import Bound, PoliciesInForce
from mooring.apiserver.policies.judging import MOST_COST, Annotation, Failure, judge
from mooring.apiserver.policies.variables import Authorize, variables_of
from mooring.apiserver.request.refusals import forbidden, refusal_of
from mooring.apiserver.store.contract import Store
from mooring.errors import ApiError
from mooring.model.document import Doc

_log = log.get("mooring.policies")

POLICIES, BINDINGS = "validatingadmissionpolicies", "validatingadmissionpolicybindings"
_CODES = {"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413, "Invalid": 422}


Found = Failure | Annotation


class Look(msgspec.Struct, frozen=True):
    """All that a policy which is in force is to be judged by, for one write."""

    bound: Bound[PolicyExpressions]
    values: Doc
    parameters: list[Doc | None] | Failure

    def findings(self) -> Iterator[Found]:
        if isinstance(self.parameters, Failure):
            if self.bound.policy.fails_closed:
                yield self.parameters
            return
        budget = Budget(MOST_COST)
        for parameters in self.parameters:
            yield from judge(self.bound.policy, {**self.values, "params": parameters}, budget)


class Policies:
    """The ValidatingAdmissionPolicies of one server."""

    def __init__(
        self,
        store: Store,
        kinds: Kinds,
        objects: Objects,
        authorize: Authorize,
        judging: Judging,
    ) -> None:
        self._judging = judging
        self._authorize = authorize
        self._objects = objects
        self._in_force = PoliciesInForce(store, kinds, objects, POLICIES, BINDINGS, compile_policy)
        self.concern = self._in_force.concern

    async def judge(self, attributes: AdmissionAttributes) -> None:
        """Waits only if that takes long. Raises: ApiError when a policy that denies is not kept."""
        looks = tuple(self._looks(attributes))
        if not looks:
            return
        for look, found in await self._judging.judge(
            attributes.origin, partial(_look_at_all, looks)
        ):
            _record(look.bound, attributes, found)
            _heed(look.bound, attributes, _failures(found))

    def _looks(self, attributes: AdmissionAttributes) -> Iterator[Look]:
        for bound, kind in self._in_force.concerned(attributes):
            values = variables_of(attributes, kind, self._objects, self._authorize)
            yield Look(bound, values, self._in_force.parameters(bound, attributes))


def _actions(bound: Bound[PolicyExpressions]) -> Sequence[str]:
    return bound.spec.get("validationActions") or ()


def _look_at_all(looks: tuple[Look, ...]) -> list[tuple[Look, tuple[Found, ...]]]:
    """Up to the first that denies. Reads nothing else."""
    seen: list[tuple[Look, tuple[Found, ...]]] = []
    for look in looks:
        found = tuple(look.findings())
        seen.append((look, found))
        if _failures(found) and "Deny" in _actions(look.bound):
            break
    return seen


def _failures(found: tuple[Found, ...]) -> tuple[Failure, ...]:
    return tuple(each for each in found if isinstance(each, Failure))


def _record(
    bound: Bound[PolicyExpressions], attributes: AdmissionAttributes, found: tuple[Found, ...]
) -> None:
    """Into the log: there is no other record of requests."""
    named = {"policy": bound.policy.name, "binding": bound.binding, **attributes.log_fields}
    is_audited = "Audit" in _actions(bound)
    for each in found:
        if isinstance(each, Annotation):
            _log.info("annotated by a policy", **named, key=each.key, value=each.value)
        elif is_audited:
            _log.info("a policy is not kept", **named, because=each.message)


def _heed(
    bound: Bound[PolicyExpressions], attributes: AdmissionAttributes, failures: tuple[Failure, ...]
) -> None:
    """Raises: ApiError, if the binding denies."""
    if not failures:
        return
    actions = _actions(bound)
    named = f"ValidatingAdmissionPolicy '{bound.policy.name}' with binding '{bound.binding}'"
    if "Warn" in actions:
        attributes.warnings.extend(
            f"Validation failed for {named}: {failure.message}" for failure in failures
        )
    if "Deny" in actions:
        raise _denied(attributes, f"{named} denied request: ", failures[0])


def _denied(attributes: AdmissionAttributes, prefix: str, failure: Failure) -> ApiError:
    reason = failure.reason or "Invalid"
    text = f"{prefix}{failure.message}"
    plain = forbidden(attributes.kind, attributes.name, text)
    details = {**plain.details, "causes": [{"message": text}]}
    return refusal_of(_CODES.get(reason, 422), reason)(plain.message, details=details)
