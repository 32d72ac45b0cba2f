"""TokenReviews and SubjectAccessReviews for requests to this node."""

from mooring.client.contract import Client
from mooring.model.document import Doc
from mooring.model.review import SubjectAccessReview, TokenReview, UserInfo
from mooring.node.server.access import RequestAttributes


class ApiReviews:
    """`Identities` and `Rights`, by TokenReview and SubjectAccessReview."""

    def __init__(self, client: Client, node: str) -> None:
        self._client = client
        self._node = node

    async def find_user(self, token: str) -> UserInfo | None:
        answer = await self._client.create(TokenReview, {"metadata": {}, "spec": {"token": token}})
        return answer.status.user if answer.status.authenticated else None

    async def may(self, user: UserInfo, attributes: RequestAttributes) -> bool:
        spec: Doc = {
            "user": user.username,
            "groups": list(user.groups),
            "resourceAttributes": {
                "verb": attributes.verb,
                "version": "v1",
                "resource": "nodes",
                "subresource": attributes.subresource,
                "name": self._node,
            },
        }
        if user.uid:
            spec["uid"] = user.uid
        if user.extra:
            spec["extra"] = {name: list(values) for name, values in user.extra.items()}
        answer = await self._client.create(SubjectAccessReview, {"metadata": {}, "spec": spec})
        return answer.status.allowed
