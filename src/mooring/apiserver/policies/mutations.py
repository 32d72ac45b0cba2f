"""Policies that change what is written: each sees what those before it have made of the object.

In the order of their names; those that ask for it are applied once more when anything has changed
the object. Whatever goes wrong with one that fails closed refuses the write.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from mooring.apiserver.admission.contract import AdmissionAttributes, Objects
from mooring.apiserver.admission.judging import Judging
from mooring.apiserver.cel.errors import CelError
from mooring.apiserver.cel.expression import Budget
from mooring.apiserver.cel.patience import Allowance
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.kinds.policy_expressions import (
    APPLY_CONFIGURATION,
    MutationExpressions,
    compile_mutations,
)
from mooring.apiserver.kinds.registry import Kinds
from mooring.apiserver.limits.turns import round_trip
from mooring.apiserver.patching.kind_shape import shape_of_kind
from mooring.apiserver.patching.shape import Shape
from mooring.apiserver.policies.in_force import Bound, PoliciesInForce
from mooring.apiserver.policies.judging import (
    MOST_COST,
    ConditionFailed,
    Failure,
    Policy,
    holds_for,
    in_error,
)
from mooring.apiserver.policies.patches import CannotPatch, with_configuration, with_operations
from mooring.apiserver.policies.variables import Authorize, OwnVariables, variables_of
from mooring.apiserver.request.refusals import forbidden, refusal_of
from mooring.apiserver.schema.contract import Schema
from mooring.apiserver.store.contract import Store
from mooring.errors import ApiError, InternalError
from mooring.model.document import Doc

TOGETHER = 16  # invocations, before others have their turn
POLICIES, BINDINGS = "mutatingadmissionpolicies", "mutatingadmissionpolicybindings"

Refill = Callable[[Doc], Sequence[str]]
"""Makes a patched document whole again: checked against its schema, defaults set. Returns the
paths of what it did not know. Raises: ValueError."""

InVersion = Callable[[Doc | None, Kind, Kind], Awaitable[Doc | None]]
"""A document of the first kind in the version of the second one."""


class Mutated(msgspec.Struct, frozen=True):
    doc: Doc
    left: int  # of what the expressions may cost
    failures: tuple[Failure, ...] = ()


class Invocation(msgspec.Struct, frozen=True):
    """One policy, by one binding, with one object as its parameters."""

    bound: Bound[MutationExpressions]
    kind: Kind  # whose version its rules name
    parameters: Doc | Failure | None

    @property
    def policy(self) -> Policy[MutationExpressions]:
        return self.bound.policy

    @property
    def is_reinvoked(self) -> bool:
        return self.policy.spec.get("reinvocationPolicy") == "IfNeeded"


class Mutations:
    """The MutatingAdmissionPolicies of one server."""

    def __init__(
        self,
        store: Store,
        kinds: Kinds,
        schema: Schema,
        objects: Objects,
        authorize: Authorize,
        judging: Judging,
        in_version: InVersion,
    ) -> None:
        self._schema = schema
        self._objects = objects
        self._authorize = authorize
        self._judging = judging
        self._in_version = in_version
        self._in_force = PoliciesInForce(
            store, kinds, objects, POLICIES, BINDINGS, compile_mutations
        )

    async def mutate(
        self, attributes: AdmissionAttributes, refill: Refill, *, again: bool = False
    ) -> bool:
        """Change `attributes.new`, in place; has anything changed? `again`: only by those that ask
        for it. Raises: ApiError when one fails closed.

        Waits only if that takes long, there are many, or a version is to be converted.
        """
        invocations = [
            each for each in self._invocations(attributes) if each.is_reinvoked or not again
        ]
        if not invocations:
            return False
        failures: list[tuple[Invocation, Failure]] = []
        changed = False
        bound, left, allowance = None, MOST_COST, Allowance()
        for number, invocation in enumerate(invocations, 1):
            if isinstance(invocation.parameters, Failure):
                failures.append((invocation, invocation.parameters))
                continue
            if invocation.bound is not bound:
                bound, left = invocation.bound, MOST_COST
            outcome = await self._carry_out(invocation, attributes, refill, left, allowance)
            left = outcome.left
            failures += ((invocation, failure) for failure in outcome.failures)
            changed = _replace(attributes.new, outcome.doc) or changed
            if number % TOGETHER == 0:
                await round_trip()
                allowance = Allowance()
        if told := [pair for pair in failures if pair[0].policy.fails_closed]:
            raise _denied(attributes, told)
        return changed

    def _invocations(self, attributes: AdmissionAttributes) -> Iterator[Invocation]:
        """Chosen before any of them changes the object."""
        for bound, kind in self._in_force.concerned(attributes):
            found = self._in_force.parameters(bound, attributes)
            for parameters in (found,) if isinstance(found, Failure) else found:
                yield Invocation(bound, kind, parameters)

    async def _carry_out(
        self,
        invocation: Invocation,
        attributes: AdmissionAttributes,
        refill: Refill,
        left: int,
        allowance: Allowance,
    ) -> Mutated:
        kind, written = invocation.kind, attributes.kind
        shown, complete = attributes, refill
        if kind is not written:
            shown = msgspec.structs.replace(
                attributes,
                new=await self._in_version(attributes.new, written, kind),
                old=await self._in_version(attributes.old, written, kind),
            )
            complete = _nothing
        values = variables_of(shown, kind, self._objects, self._authorize)
        values["params"] = invocation.parameters
        shape = shape_of_kind(kind, self._schema)
        outcome = await self._judging.judge(
            attributes.origin,
            partial(mutated, invocation.policy, values, shape, complete, left),
            allowance,
        )
        if kind is written:
            return outcome
        doc = await self._in_version(outcome.doc, kind, written) or outcome.doc
        if doc != attributes.new:
            complete_strictly(doc, refill)
        return msgspec.structs.replace(outcome, doc=doc)


def mutated(
    policy: Policy[MutationExpressions],
    values: Mapping[str, Any],
    shape: Shape,
    complete: Refill,
    left: int,
) -> Mutated:
    """`object` of the values, as the policy leaves it; a mutation that fails leaves it as it is.

    Pure. Its expressions may cost what is `left`. Raises: InternalError when a patch makes
    something of it that is no such object.
    """
    doc: Doc = values["object"]
    budget = Budget(left)
    expressions = policy.expressions
    try:
        if not holds_for(expressions.conditions, values, budget):
            return Mutated(doc, budget.left)
    except ConditionFailed as error:
        return Mutated(doc, budget.left, (Failure(error.told, "Invalid"),))
    own = OwnVariables(expressions.variables, values, budget)
    failures: list[Failure] = []
    for patch_type, expression in expressions.mutations:
        try:
            made = expression.evaluate({**values, "object": doc, "variables": own}, budget)
            if patch_type == APPLY_CONFIGURATION:
                new = with_configuration(doc, made, shape)
            else:
                new = with_operations(doc, made)
        except CelError as error:
            failures.append(Failure(in_error(expression.text, error), "Invalid"))
        except CannotPatch as error:
            failures.append(Failure(str(error), "Invalid"))
        else:
            if new is not doc:
                _check_identity(new, doc)
                complete_strictly(new, complete)
                doc = new
    return Mutated(doc, budget.left, tuple(failures))


def _check_identity(new: Doc, old: Doc) -> None:
    """Raises: InternalError, when a patch makes another kind of it."""
    kind, version = new.get("kind", old["kind"]), new.get("apiVersion", old["apiVersion"])
    if (kind, version) != (old["kind"], old["apiVersion"]):
        raise _unusable(f'no kind "{kind}" is registered for version "{version}"')


def complete_strictly(doc: Doc, refill: Refill) -> None:
    """Raises: InternalError, whatever the policy says of failures, as upstream's."""
    doc.setdefault("metadata", {})
    try:
        unknown = refill(doc)
    except ValueError as error:
        raise _unusable(str(error)) from error
    if unknown:
        found = ", ".join(f'unknown field "{path}"' for path in unknown)
        raise _unusable(f"strict decoding error: {found}")


def _unusable(why: str) -> InternalError:
    return InternalError(f"Internal error occurred: {why}", causes=[{"message": why}])


def _nothing(_: Doc) -> Sequence[str]:
    """It is made whole when it is back in the version that was written."""
    return ()


def _replace(doc: Doc | None, new: Doc) -> bool:
    if doc is None or doc == new:
        return False
    doc.clear()
    doc.update(new)
    return True


def _denied(
    attributes: AdmissionAttributes, failures: Sequence[tuple[Invocation, Failure]]
) -> ApiError:
    texts = [
        f"policy '{invocation.policy.name}' with binding '{invocation.bound.binding}' "
        f"denied request: {failure.message}"
        for invocation, failure in failures
    ]
    plain = forbidden(attributes.kind, attributes.name, "admission request denied by policy")
    details = {**plain.details, "causes": [{"message": text} for text in texts]}
    reason = failures[0][1].reason or plain.reason
    return refusal_of(plain.code, reason)(texts[0], details=details)
