"""TokenReview and SubjectAccessReview: authentication and authorization by the API server.

Created like objects, answered at once, and not stored.
"""

from collections.abc import Mapping
from typing import ClassVar

from mooring.model.meta import ApiObject, Resource
from mooring.model.wire import Wire


class UserInfo(Wire, frozen=True):
    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = {}


class TokenVerdict(Wire, frozen=True):
    authenticated: bool = False
    user: UserInfo = UserInfo()
    audiences: tuple[str, ...] = ()  # of those that were asked for, the token's
    error: str = ""


class TokenReview(ApiObject, frozen=True):
    resource: ClassVar = Resource(
        "authentication.k8s.io", "v1", "TokenReview", "tokenreviews", namespaced=False
    )

    status: TokenVerdict = TokenVerdict()


class AccessVerdict(Wire, frozen=True):
    allowed: bool = False
    reason: str = ""


class SubjectAccessReview(ApiObject, frozen=True):
    resource: ClassVar = Resource(
        "authorization.k8s.io",
        "v1",
        "SubjectAccessReview",
        "subjectaccessreviews",
        namespaced=False,
    )

    status: AccessVerdict = AccessVerdict()
