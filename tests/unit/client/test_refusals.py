"""From a server's answer to the error that is raised."""

import json
from typing import Any

import pytest

from mooring import errors
from mooring.client.refusals import refusal
from mooring.errors import ApiError

CASES: dict[str, tuple[int, str, type[ApiError]]] = {
    "400 BadRequest": (400, "BadRequest", errors.BadRequest),
    "401 Unauthorized": (401, "Unauthorized", errors.Unauthorized),
    "403 Forbidden": (403, "Forbidden", errors.Forbidden),
    "404 NotFound": (404, "NotFound", errors.NotFound),
    "405 MethodNotAllowed": (405, "MethodNotAllowed", errors.MethodNotAllowed),
    "406 NotAcceptable": (406, "NotAcceptable", errors.NotAcceptable),
    "409 Conflict": (409, "Conflict", errors.Conflict),
    "409 AlreadyExists": (409, "AlreadyExists", errors.AlreadyExists),
    "409 without a reason": (409, "", errors.Conflict),
    "410 Expired": (410, "Expired", errors.Expired),
    "410 Gone": (410, "Gone", errors.Expired),
    "413 RequestEntityTooLarge": (413, "RequestEntityTooLarge", errors.TooLarge),
    "415 UnsupportedMediaType": (415, "UnsupportedMediaType", errors.UnsupportedMedia),
    "422 Invalid": (422, "Invalid", errors.Invalid),
    "429 TooManyRequests": (429, "TooManyRequests", errors.TooManyRequests),
    "500 InternalError": (500, "InternalError", errors.InternalError),
    "500 ServerTimeout": (500, "ServerTimeout", errors.ServerTimeout),
    "500 without a reason": (500, "", errors.ServerError),
    "503 ServiceUnavailable": (503, "ServiceUnavailable", errors.ServerError),
    "504 Timeout": (504, "Timeout", errors.ServerTimeout),
    "502 without a reason": (502, "", errors.ServerError),
    "418 with a reason of its own": (418, "Teapot", errors.BadRequest),
    "a redirect": (302, "", errors.ServerError),
}


def a_status(code: int, reason: str, **more: Any) -> bytes:
    said = {"kind": "Status", "status": "Failure", "code": code, "message": "no", **more}
    return json.dumps(said | ({"reason": reason} if reason else {})).encode()


@pytest.mark.parametrize(("code", "reason", "kind"), CASES.values(), ids=CASES)
def test_refusal(code: int, reason: str, kind: type[ApiError]) -> None:
    error = refusal(code, a_status(code, reason))
    assert type(error) is kind
    assert str(error) == "no"


def test_details_are_kept() -> None:
    causes = [{"reason": "FieldValueInvalid", "message": "bad", "field": "spec.x"}]
    details = {"name": "data", "kind": "PersistentVolumeClaim", "causes": causes}
    error = refusal(422, a_status(422, "Invalid", details=details))
    assert error.details == details


WAITS: dict[str, tuple[Any, str | None, int]] = {
    "by the header": ({}, "3", 3),
    "by the details": ({"retryAfterSeconds": 2}, None, 2),
    "by the header, if both": ({"retryAfterSeconds": 2}, "3", 3),
    "not at all": ({}, None, 0),
    "not by a date": ({}, "Wed, 21 Oct 2026 07:28:00 GMT", 0),
}


@pytest.mark.parametrize(("details", "header", "seconds"), WAITS.values(), ids=WAITS)
def test_when_to_come_back(details: Any, header: str | None, seconds: int) -> None:
    error = refusal(429, a_status(429, "TooManyRequests", details=details), header)
    assert error.retry_after == seconds


OTHERS: dict[str, tuple[bytes, str]] = {
    "the text of a proxy": (b"Bad Gateway\nnginx\n", "Bad Gateway"),
    "nothing": (b"", "the server answered 502"),
    "a Status without words": (b"{}", "the server answered 502"),
    "bytes that are no text": (b"\xff\xfe", "\ufffd\ufffd"),
    "a long page": (b"x" * 5000, "x" * 200),
}


@pytest.mark.parametrize(("body", "words"), OTHERS.values(), ids=OTHERS)
def test_an_answer_that_is_no_status(body: bytes, words: str) -> None:
    error = refusal(502, body)
    assert type(error) is errors.ServerError
    assert str(error) == words
