"""The policies in force: which of them concern a write, with which parameters, and what follows."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import msgspec

from mooring import log
from mooring.apiserver.admission.contract import AdmissionAttributes, Objects
from mooring.apiserver.admission.judging import Judging
from mooring.apiserver.cel.expression import Budget
from mooring.apiserver.documents.document import decode
from mooring.apiserver.documents.following import Follower
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.kinds.policy_expressions import compile_policy
from mooring.apiserver.kinds.registry import Kinds
from mooring.apiserver.kinds.webhook_configuration import GROUP
from mooring.apiserver.policies.judging import MOST_COST, Annotation, Failure, Policy, judge
from mooring.apiserver.policies.scope import Scope, read_binding_scope, read_scope
from mooring.apiserver.policies.variables import Authorize, variables_of
from mooring.apiserver.request.refusals import forbidden, refusal_of
from mooring.apiserver.store.contract import Store
from mooring.errors import ApiError
from mooring.model.document import Doc
from mooring.model.selector import from_document

_log = log.get("mooring.policies")

POLICIES, BINDINGS = "validatingadmissionpolicies", "validatingadmissionpolicybindings"
MOST_PARAMETERS = 1000  # objects that one binding may choose
_CODES = {"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413, "Invalid": 422}


Found = Failure | Annotation


class Bound(msgspec.Struct, frozen=True):
    """A policy that a binding puts into force."""

    policy: Policy
    scope: Scope  # of the policy
    binding: str
    spec: Doc  # of the binding
    own_scope: Scope | None

    @property
    def actions(self) -> Sequence[str]:
        return self.spec.get("validationActions") or ()

    @property
    def denies(self) -> bool:
        return "Deny" in self.actions


class Look(msgspec.Struct, frozen=True):
    """All that a policy which is in force is to be judged by, for one write."""

    bound: Bound
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
    """The policies of one server."""

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
        self._store = store
        self._kinds = kinds
        self._objects = objects
        self._bound: tuple[Bound, ...] | None = None
        Follower(
            store,
            kinds,
            lambda _kind, _entry: self._forget(),
            lambda _kind, _event: self._forget(),
            lambda kind: kind.group == GROUP and kind.plural in (POLICIES, BINDINGS),
        ).start()

    def concern(self, attributes: AdmissionAttributes) -> bool:
        """Whether the rules of any policy name this write."""
        return any(
            bound.scope.named_kind(attributes, self._kinds) is not None
            for bound in self._in_force(attributes)
        )

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
        for bound in self._in_force(attributes):
            kind = self._concerned(bound, attributes)
            if kind is not None:
                values = variables_of(attributes, kind, self._objects, self._authorize)
                yield Look(bound, values, self._parameters(bound, attributes))

    def _in_force(self, attributes: AdmissionAttributes) -> tuple[Bound, ...]:
        if self._bound is None:
            self._bound = tuple(self._read())
        return () if attributes.kind.group == GROUP else self._bound

    def _concerned(self, bound: Bound, attributes: AdmissionAttributes) -> Kind | None:
        kind = bound.scope.kind_of(attributes, self._kinds, self._objects)
        if kind is None:
            return None
        own = bound.own_scope
        if own is not None and own.kind_of(attributes, self._kinds, self._objects) is None:
            return None
        return kind

    def _parameters(
        self, bound: Bound, attributes: AdmissionAttributes
    ) -> list[Doc | None] | Failure:
        """One look for each; None: a policy without parameters."""
        wanted, reference = bound.policy.spec.get("paramKind"), bound.spec.get("paramRef")
        if wanted is None or reference is None:
            return [None]
        group, _, version = wanted["apiVersion"].rpartition("/")
        kind = self._kinds.by_kind(group, version, wanted["kind"])
        if kind is None:
            shown = f"{wanted['apiVersion']}, Kind={wanted['kind']}"
            told = f"failed to find resource referenced by paramKind: '{shown}'"
            return Failure(f"failed to configure policy: {told}")
        namespace = reference.get("namespace") or attributes.namespace
        if kind.namespaced and not namespace:
            told = "cannot use namespaced paramRef in policy binding that matches cluster-scoped "
            return Failure(f"failed to configure binding: {told}resources")
        found: list[Doc | None] = list(self._chosen(kind, reference, namespace))
        if not found and reference.get("parameterNotFoundAction") == "Deny":
            text = "no params found for policy binding with `Deny` parameterNotFoundAction"
            return Failure(f"failed to configure binding: {text}")
        return found

    def _chosen(self, kind: Kind, reference: Doc, namespace: str) -> Iterator[Doc]:
        prefix = f"{namespace}/" if kind.namespaced else ""
        if name := reference.get("name"):
            entry = self._store.get(kind.store_table, f"{prefix}{name}")
            if entry is not None:
                yield decode(kind, entry)
            return
        selector = from_document(reference.get("selector") or {})
        for entry in self._store.range(kind.store_table, prefix, limit=MOST_PARAMETERS).entries:
            doc = decode(kind, entry)
            if selector.matches(doc["metadata"].get("labels") or {}):
                yield doc

    def _forget(self) -> None:
        self._bound = None

    def _read(self) -> Iterator[Bound]:
        policies = {doc["metadata"]["name"]: doc for doc in self._all(POLICIES)}
        for binding in self._all(BINDINGS):
            spec = binding["spec"]
            policy = policies.get(spec["policyName"])
            if policy is None:
                continue
            match = spec.get("matchResources")
            name = policy["metadata"]["name"]
            yield Bound(
                Policy(name, policy["spec"], compile_policy(policy["spec"])),
                read_scope(policy["spec"]["matchConstraints"]),
                binding["metadata"]["name"],
                spec,
                None if match is None else read_binding_scope(match),
            )

    def _all(self, plural: str) -> Iterable[Doc]:
        kind = self._kinds.find(GROUP, "v1", plural)
        if kind is None:
            return ()
        return (decode(kind, entry) for entry in self._store.range(kind.store_table).entries)


def _look_at_all(looks: tuple[Look, ...]) -> list[tuple[Look, tuple[Found, ...]]]:
    """Up to the first that denies. Reads nothing else."""
    seen: list[tuple[Look, tuple[Found, ...]]] = []
    for look in looks:
        found = tuple(look.findings())
        seen.append((look, found))
        if _failures(found) and look.bound.denies:
            break
    return seen


def _failures(found: tuple[Found, ...]) -> tuple[Failure, ...]:
    return tuple(each for each in found if isinstance(each, Failure))


def _record(bound: Bound, attributes: AdmissionAttributes, found: tuple[Found, ...]) -> None:
    """Into the log: there is no other record of requests."""
    named = {"policy": bound.policy.name, "binding": bound.binding, **attributes.log_fields}
    is_audited = "Audit" in bound.actions
    for each in found:
        if isinstance(each, Annotation):
            _log.info("annotated by a policy", **named, key=each.key, value=each.value)
        elif is_audited:
            _log.info("a policy is not kept", **named, because=each.message)


def _heed(bound: Bound, attributes: AdmissionAttributes, failures: tuple[Failure, ...]) -> None:
    """Raises: ApiError, if the binding denies."""
    if not failures:
        return
    named = f"ValidatingAdmissionPolicy '{bound.policy.name}' with binding '{bound.binding}'"
    if "Warn" in bound.actions:
        attributes.warnings.extend(
            f"Validation failed for {named}: {failure.message}" for failure in failures
        )
    if bound.denies:
        raise _denied(attributes, f"{named} denied request: ", failures[0])


def _denied(attributes: AdmissionAttributes, prefix: str, failure: Failure) -> ApiError:
    reason = failure.reason or "Invalid"
    text = f"{prefix}{failure.message}"
    plain = forbidden(attributes.kind, attributes.name, text)
    details = {**plain.details, "causes": [{"message": text}]}
    return refusal_of(_CODES.get(reason, 422), reason)(plain.message, details=details)
