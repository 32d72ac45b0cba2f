"""Authentication and authorization of every request; the reviews that ask about them, and the
TokenRequests of service accounts."""

from collections.abc import Callable, Mapping

from mooring.apiserver.admission import contract as admission
from mooring.apiserver.admission.contract import Operation
from mooring.apiserver.auth import reviews, token_request
from mooring.apiserver.auth.attributes import AccessAttributes
from mooring.apiserver.auth.authenticate import Authenticator, impersonate
from mooring.apiserver.auth.authorize import Authorizer, refusal
from mooring.apiserver.auth.service_account_tokens import ServiceAccountTokens
from mooring.apiserver.auth.user import ANONYMOUS, User
from mooring.apiserver.documents.document import decode, encode
from mooring.apiserver.request.message import Answer, Request, Response
from mooring.apiserver.request.negotiation import What
from mooring.apiserver.request.refusals import not_found
from mooring.apiserver.schema.fill import fill
from mooring.apiserver.verbs.backend import Backend, Call, SubresourceVerbs, Verb
from mooring.apiserver.verbs.decoding import body_options, decode_body
from mooring.errors import NotAcceptable, Unauthorized
from mooring.model.document import Doc

Review = Callable[[Doc, Call, str], Doc]


class Access:
    def __init__(
        self, authenticator: Authenticator, authorizer: Authorizer, tokens: ServiceAccountTokens
    ) -> None:
        self._authenticator = authenticator
        self._authorizer = authorizer
        self._tokens = tokens
        self.review_verbs: Mapping[str, Verb] = {
            plural: _answering(review) for plural, review in self._reviews().items()
        }
        self.part_verbs: SubresourceVerbs = {("serviceaccounts", "token"): {"POST": self._token}}

    def who(self, request: Request) -> User:
        """Raises Unauthorized, Forbidden (for an impersonation that is not allowed)."""
        user = self._authenticator.authenticate(request.headers.get("authorization"))
        return impersonate(user, request.headers, self._authorizer)

    def find_caller(self, authorization: str) -> str:
        """The name of the user whose token a header shows; empty when it shows no good one."""
        try:
            user = self._authenticator.authenticate(authorization)
        except Unauthorized:
            return ""
        return "" if user is ANONYMOUS else user.name

    def check(self, user: User, attributes: AccessAttributes) -> None:
        verdict = self._authorizer.authorize(user, attributes)
        if not verdict.allowed:
            raise refusal(user, attributes, verdict)

    def _reviews(self) -> dict[str, Review]:
        authorizer = self._authorizer
        return {
            "selfsubjectaccessreviews": lambda doc, call, _: reviews.self_subject_access_review(
                doc, call.user, authorizer
            ),
            "subjectaccessreviews": lambda doc, _call, _now: reviews.subject_access_review(
                doc, authorizer
            ),
            "localsubjectaccessreviews": lambda doc, call, _: reviews.local_subject_access_review(
                doc, call.namespace, authorizer
            ),
            "selfsubjectrulesreviews": lambda doc, call, _: reviews.self_subject_rules_review(
                doc, call.user, authorizer
            ),
            "selfsubjectreviews": lambda _doc, call, now: reviews.self_subject_review(
                call.user, now
            ),
            "tokenreviews": lambda doc, _call, _now: reviews.token_review(doc, self._authenticator),
        }

    async def _token(self, backend: Backend, call: Call) -> Answer:
        """POST serviceaccounts/<name>/token."""
        options = body_options(call, "CreateOptions")
        asked, _ = decode_body(
            call,
            options.validation,
            message="authentication.v1.TokenRequest",
            kind="TokenRequest",
            api_version="authentication.k8s.io/v1",
        )
        entry = backend.store.get(call.kind.store_table, call.store_name)
        if entry is None:
            raise not_found(call.kind, call.name)
        request = token_request.prepare(asked, decode(call.kind, entry), self._tokens)
        attributes = admission.AdmissionAttributes(
            Operation.CREATE, call.kind, call.user, call.namespace, call.name, "token", request
        )
        await backend.admission.judge(attributes, backend.objects)
        granted = token_request.grant(
            request, self._tokens, backend.objects.find, backend.clock.now(), backend.new_uid()
        )
        return Response(201, encode(granted))


def _answering(review: Review) -> Verb:
    async def verb(backend: Backend, call: Call) -> Answer:
        if call.form.what is not What.OBJECT:
            raise NotAcceptable("a review is shown as it is, not as a Table or as metadata only")
        options = body_options(call, "CreateOptions")
        doc, _ = decode_body(call, options.validation)
        answer = dict(review(doc, call, backend.now()))
        fill(answer, call.kind.message)
        return Response(201, encode(answer))

    return verb
