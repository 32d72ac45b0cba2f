import logging
from time import perf_counter
from typing import Any

import msgspec
import pytest

from mooring.apiserver.documents.published import Published
from mooring.apiserver.kinds.registry import builtin
from mooring.apiserver.openapi.serving import OpenApi
from mooring.apiserver.request.negotiation import SwaggerForm
from mooring.apiserver.schema.parse import load
from tests.unit.apiserver.small_api import BROKEN, SMALL_SCHEMA, STORAGE_CLASS, small_kinds


def small() -> OpenApi:
    return OpenApi(small_kinds(), SMALL_SCHEMA)


def read(published: Published | None) -> Any:
    assert published
    return msgspec.json.decode(published.body)


def test_the_index_lists_every_group_version_with_the_digest_of_its_document() -> None:
    served = small()
    entries = read(served.index())["paths"]
    assert list(entries) == [
        "api/v1",
        "apis/storage.k8s.io/v1",
        "apis/snapshot.storage.k8s.io/v1",
        "apis/authentication.k8s.io/v1",
    ]
    for name, entry in entries.items():
        document = served.group_version(name)
        assert document
        assert entry["serverRelativeURL"] == f"/openapi/v3/{name}?hash={document.digest}"


def test_a_document_describes_its_own_group_version_alone() -> None:
    document = read(small().group_version("apis/storage.k8s.io/v1"))
    assert all(path.startswith("/apis/storage.k8s.io/v1/") for path in document["paths"])


UNKNOWN = ["apis/apps/v1", "api/v2", "", "apis"]


@pytest.mark.parametrize("name", UNKNOWN)
def test_an_unknown_group_version_is_not_there(name: str) -> None:
    assert small().group_version(name) is None


def test_swagger_in_both_forms() -> None:
    served = small()
    as_json = served.swagger(SwaggerForm.JSON)
    as_protobuf = served.swagger(SwaggerForm.PROTOBUF)
    assert "/api/v1/pods" in read(as_json)["paths"]
    assert as_json.content_type == "application/json"
    assert as_protobuf.body.startswith(b"\x0a\x032.0")
    assert as_protobuf.content_type.endswith("+protobuf")
    assert "@" not in as_protobuf.content_type


def test_documents_are_kept_until_a_kind_joins() -> None:
    kinds = small_kinds()
    served = OpenApi(kinds, SMALL_SCHEMA)
    before = (served.index(), served.swagger(SwaggerForm.JSON), served.group_version("api/v1"))
    assert served.index() is before[0]
    assert served.swagger(SwaggerForm.JSON) is before[1]
    assert served.group_version("api/v1") is before[2]
    kinds.add(STORAGE_CLASS)
    assert served.index() is not before[0]
    assert served.index() == before[0], "the same kinds give the same digests"


def test_a_group_that_cannot_be_described_does_not_hide_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    kinds = small_kinds()
    whole = OpenApi(kinds, SMALL_SCHEMA)
    index, swagger = read(whole.index()), read(whole.swagger(SwaggerForm.JSON))
    kinds.add(BROKEN)
    with caplog.at_level(logging.WARNING):
        assert whole.group_version("apis/broken.example.com/v1") is None
        assert read(whole.index()) == index
        assert read(whole.swagger(SwaggerForm.JSON)) == swagger
    assert "broken.v1.Broken" in caplog.text


def test_nothing_is_made_before_it_is_asked_for() -> None:
    class Untouchable:
        def __getattr__(self, name: str) -> Any:
            raise AssertionError(f"{name} was read")

    OpenApi(small_kinds(), Untouchable())  # type: ignore[arg-type]  # only its construction matters


def test_the_core_is_described_quickly() -> None:
    kinds, schema = builtin(), load()
    started = perf_counter()
    assert OpenApi(kinds, schema).group_version("api/v1")
    assert (
        perf_counter() - started < 1
    )  # it takes some 5 ms; a second is a mistake, not a busy machine
