"""What expressions see of a write."""

from collections.abc import Callable, Mapping
from typing import Any

from mooring.apiserver.admission.contract import AdmissionAttributes, Objects
from mooring.apiserver.admission.judging import on_loop
from mooring.apiserver.auth.attributes import AccessAttributes, Verdict
from mooring.apiserver.auth.user import (
    AUTHENTICATED,
    User,
    find_service_account,
    service_account_groups,
    to_document,
)
from mooring.apiserver.cel.errors import CelError
from mooring.apiserver.cel.expression import Budget, Expression
from mooring.apiserver.cel.library.authorizer import (
    AuthorizerValue,
    DecisionValue,
    Question,
    ResourceValue,
)
from mooring.apiserver.kinds.contract import Kind
from mooring.model.document import Doc


def request_of(attributes: AdmissionAttributes, kind: Kind) -> Doc:
    """`request`, as AdmissionReview has it, but for the objects."""
    group_kind = {"group": kind.group, "version": kind.version, "kind": kind.kind}
    resource = {"group": kind.group, "version": kind.version, "resource": kind.plural}
    return {
        "kind": group_kind,
        "resource": resource,
        "subResource": attributes.subresource,
        "requestKind": group_kind,
        "requestResource": resource,
        "requestSubResource": attributes.subresource,
        "name": attributes.name,
        "namespace": attributes.namespace,
        "operation": attributes.operation.value,
        "userInfo": to_document(attributes.user),
        "dryRun": attributes.dry_run,
    }


Authorize = Callable[[User, AccessAttributes], Verdict]


def variables_of(
    attributes: AdmissionAttributes, kind: Kind, objects: Objects, authorize: Authorize
) -> Doc:
    """All but parameters, and the policy's own variables. They can be used in a thread."""

    @on_loop
    def ask(question: Question) -> DecisionValue:
        verdict = authorize(_asked_for(question, attributes.user), _attributes(question))
        return DecisionValue(verdict.allowed, verdict.reason)

    place = attributes.namespace
    written = Question(
        group=kind.group,
        resource=kind.plural,
        subresource=attributes.subresource,
        namespace=attributes.namespace,
        name=attributes.name,
    )
    return {
        "object": attributes.new,
        "oldObject": attributes.old,
        "request": request_of(attributes, kind),
        "namespaceObject": objects.find("namespaces", "", place) if place else None,
        "authorizer": AuthorizerValue(ask),
        "authorizer.requestResource": ResourceValue(ask, written),
    }


def _asked_for(question: Question, user: User) -> User:
    """The user of the request, or the service account that is named instead."""
    account = find_service_account(question.user)
    if account is None:
        return user
    return User(question.user, groups=(*service_account_groups(account[0]), AUTHENTICATED))


def _attributes(question: Question) -> AccessAttributes:
    return AccessAttributes(
        question.verb,
        group=question.group,
        version="*",
        resource=question.resource,
        subresource=question.subresource,
        namespace=question.namespace,
        name=question.name,
        path=question.path,
        field_selector=question.field_selector,
        label_selector=question.label_selector,
    )


class OwnVariables(dict[str, Any]):
    """`variables` of a policy: each is computed when it is first asked for, and only once."""

    def __init__(
        self,
        expressions: tuple[tuple[str, Expression], ...],
        values: Mapping[str, Any],
        budget: Budget,
    ) -> None:
        super().__init__()
        self._expressions = dict(expressions)
        self._values = {**values, "variables": self}
        self._budget = budget
        self._failed: dict[str, CelError] = {}

    def get(self, name: str, otherwise: Any = None) -> Any:
        """Raises: CelError, of its expression."""
        if name in self._failed:
            raise self._failed[name]
        expression = self._expressions.pop(name, None)  # popped: a circle ends here
        if expression is None:
            return super().get(name, otherwise)
        try:
            self[name] = expression.evaluate(self._values, self._budget)
        except CelError as error:
            self._failed[name] = error
            raise
        return self[name]
