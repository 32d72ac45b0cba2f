"""Reviews, asked of a real API: by a node in its process, and by one over HTTPS."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mooring.apiserver.api.in_process import InProcessApi
from mooring.apiserver.auth.pki import Pki
from mooring.apiserver.auth.user import node_user
from mooring.client.local import LocalClient
from mooring.model.review import UserInfo
from mooring.node.server.access import RequestAttributes
from mooring.node.server.reviews import ApiReviews
from tests.fakes.api import ApiUnderTest, make_pki, running_api

PROXY = RequestAttributes("create", "proxy")


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return make_pki(tmp_path_factory.mktemp("pki"))


@pytest.fixture
async def api(keys: Pki, tmp_path: Path) -> AsyncIterator[ApiUnderTest]:
    async with running_api(keys, tmp_path) as running:
        yield running


@pytest.fixture
def reviews(api: ApiUnderTest) -> ApiReviews:
    access = api.parts.access
    local = InProcessApi(
        api.parts.backend, node_user("n1"), access.part_verbs, access.check, access.review_verbs
    )
    return ApiReviews(LocalClient(local), "n1")


async def test_a_token_names_its_user(api: ApiUnderTest, reviews: ApiReviews) -> None:
    assert api.token is not None
    user = await reviews.find_user(api.token)
    assert user is not None
    assert "system:masters" in user.groups
    assert await reviews.find_user("made up") is None


async def test_rights_are_those_of_the_api(reviews: ApiReviews) -> None:
    masters = UserInfo(username="x", groups=("system:masters",), uid="7", extra={"a": ("b",)})
    assert await reviews.may(masters, PROXY)
    assert not await reviews.may(UserInfo(username="x"), PROXY)


async def test_nothing_is_stored(api: ApiUnderTest, reviews: ApiReviews) -> None:
    before = api.parts.backend.store.revision
    await reviews.find_user("made up")
    assert api.parts.backend.store.revision == before
