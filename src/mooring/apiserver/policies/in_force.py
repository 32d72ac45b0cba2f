"""The policies that bindings put into force: which concern a write, and with which parameters."""

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

import msgspec

from mooring.apiserver.admission.contract import AdmissionAttributes, Objects
from mooring.apiserver.documents.document import decode
from mooring.apiserver.documents.following import Follower
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.kinds.registry import Kinds
from mooring.apiserver.kinds.webhook_configuration import GROUP
from mooring.apiserver.policies.judging import Failure, Policy
from mooring.apiserver.policies.scope import Scope, read_binding_scope, read_scope
from mooring.apiserver.store.contract import Store
from mooring.model.document import Doc
from mooring.model.selector import from_document

MOST_PARAMETERS = 1000  # objects that one binding may choose

E = TypeVar("E")


class Bound(msgspec.Struct, Generic[E], frozen=True):
    """A policy that a binding puts into force."""

    policy: Policy[E]
    scope: Scope  # of the policy
    binding: str
    spec: Doc  # of the binding
    own_scope: Scope | None


class PoliciesInForce(Generic[E]):
    """Those of one kind, in the order of their names, then of their bindings' names."""

    def __init__(
        self,
        store: Store,
        kinds: Kinds,
        objects: Objects,
        policies: str,
        bindings: str,
        compile: Callable[[Doc], E],
    ) -> None:
        self._store = store
        self._kinds = kinds
        self._objects = objects
        self._policies = policies  # plurals
        self._bindings = bindings
        self._compile = compile
        self._bound: tuple[Bound[E], ...] | None = None
        Follower(
            store,
            kinds,
            lambda _kind, _entry: self._forget(),
            lambda _kind, _event: self._forget(),
            lambda kind: kind.group == GROUP and kind.plural in (policies, bindings),
        ).start()

    def concern(self, attributes: AdmissionAttributes) -> bool:
        """Whether the rules of any policy name this write."""
        return any(
            bound.scope.named_kind(attributes, self._kinds) is not None
            for bound in self._in_force(attributes)
        )

    def concerned(self, attributes: AdmissionAttributes) -> Iterator[tuple[Bound[E], Kind]]:
        """Those that are about this write, and the version of the kind that they name."""
        for bound in self._in_force(attributes):
            kind = bound.scope.kind_of(attributes, self._kinds, self._objects)
            if kind is None:
                continue
            own = bound.own_scope
            if own is None or own.kind_of(attributes, self._kinds, self._objects) is not None:
                yield bound, kind

    def _in_force(self, attributes: AdmissionAttributes) -> tuple[Bound[E], ...]:
        """Nothing of the group is ever asked about: what refuses everything can be taken away."""
        if self._bound is None:
            self._bound = tuple(self._read())
        return () if attributes.kind.group == GROUP else self._bound

    def parameters(
        self, bound: Bound[E], attributes: AdmissionAttributes
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

    def _read(self) -> Iterator[Bound[E]]:
        policies = {doc["metadata"]["name"]: doc for doc in self._all(self._policies)}
        for binding in sorted(self._all(self._bindings), key=_place):
            spec = binding["spec"]
            policy = policies.get(spec["policyName"])
            if policy is None:
                continue
            match = spec.get("matchResources")
            name = policy["metadata"]["name"]
            yield Bound(
                Policy(name, policy["spec"], self._compile(policy["spec"])),
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


def _place(binding: Doc) -> tuple[str, str]:
    return binding["spec"]["policyName"], binding["metadata"]["name"]
