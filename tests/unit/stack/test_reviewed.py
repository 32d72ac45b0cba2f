"""The CSI calls of a standalone role are shown to whom the API server lets read them."""

from typing import Any

import aiohttp
import pytest
from aiohttp import web
from prometheus_client import CollectorRegistry

from mooring.clock import RealClock
from mooring.csi.call_log import CallLog
from mooring.csi.call_query import PATH
from mooring.csi.serve_calls import ServedCalls
from mooring.errors import Forbidden
from mooring.model.review import (
    AccessVerdict,
    SubjectAccessReview,
    TokenReview,
    TokenVerdict,
    UserInfo,
)
from mooring.stack.metrics_page import metrics_served
from mooring.stack.reviewed import Reviewed, _is_local


class Reviews:
    """A client that answers reviews: one known token, one user with rights."""

    def __init__(self, *, may_review: bool = True) -> None:
        self._may_review = may_review

    async def create(self, kind: type[Any], doc: dict[str, Any]) -> Any:
        if not self._may_review:
            raise Forbidden("may not create tokenreviews")
        spec = doc["spec"]
        if kind is TokenReview:
            known = spec["token"] in ("reader", "nobody")
            return TokenReview(status=TokenVerdict(known, UserInfo(spec["token"])))
        asked = spec["nonResourceAttributes"]
        assert asked == {"path": PATH, "verb": "get"}
        allowed = spec["user"] == "reader"
        return SubjectAccessReview(status=AccessVerdict(allowed=allowed))


@pytest.mark.parametrize(
    ("authorization", "may_review", "code"),
    [
        ("Bearer reader", True, 200),
        ("Bearer nobody", True, 403),
        ("Bearer stranger", True, 401),
        ("Basic reader", True, 401),
        ("", True, 401),
        ("Bearer reader", False, 500),
    ],
)
async def test_the_token_decides(authorization: str, code: int, *, may_review: bool) -> None:
    calls, reviewed = (
        ServedCalls(RealClock(), CallLog()),
        Reviewed(Reviews(may_review=may_review)),  # type: ignore[arg-type]  # reviews are all it asks
    )

    async def serve(request: web.Request) -> web.StreamResponse:
        return await reviewed.refusal(request) or await calls.serve(request)

    told: list[str] = []
    registry = CollectorRegistry()
    async with (
        metrics_served("127.0.0.1:0", registry, told.append, others={PATH: serve}),
        aiohttp.ClientSession() as session,
    ):
        root = told[0].removeprefix("metrics are at ").removesuffix("/metrics")
        headers = {"Authorization": authorization} if authorization else {}
        async with session.get(root + PATH, headers=headers) as answer:
            assert answer.status == code, await answer.text()


@pytest.mark.parametrize(
    ("remote", "local"),
    [("127.0.0.1", True), ("::1", True), ("10.0.0.1", False), ("", False), (None, False)],
)
def test_tokens_are_taken_from_this_machine_only(remote: str | None, *, local: bool) -> None:
    assert _is_local(remote) is local
