"""Requests and answers of the dashboard, apart from how they are carried."""

from collections.abc import AsyncGenerator, Mapping
from typing import Any

import msgspec

JSON = "application/json"
TEXT = "text/plain; charset=utf-8"
LINES = "application/x-ndjson"

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
"""No inline script or style, nothing from elsewhere, and no way to make HTML out of a text."""
SECURITY = (
    ("Content-Security-Policy", POLICY),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
)
NOT_KEPT = ("Cache-Control", "no-store")

_encode = msgspec.json.Encoder().encode


class DashboardRequest(msgspec.Struct, frozen=True):
    method: str
    path: str  # as sent: still percent-encoded
    query: Mapping[str, str] = {}
    bearer: str = ""  # the token of the Authorization header
    body: bytes = b""
    known_etag: str = ""  # of the If-None-Match header


class DashboardAnswer(msgspec.Struct, frozen=True):
    """A body that is a generator has no end of its own; whoever carries it closes it."""

    status: int
    body: bytes | AsyncGenerator[bytes, None] = b""
    content_type: str = JSON
    headers: tuple[tuple[str, str], ...] = (*SECURITY, NOT_KEPT)


def answer_json(document: Any, status: int = 200) -> DashboardAnswer:
    return DashboardAnswer(status, _encode(document))


def answer_text(text: str, status: int = 200) -> DashboardAnswer:
    return DashboardAnswer(status, text.encode(errors="replace"), TEXT)


def refusal(status: int, why: str) -> DashboardAnswer:
    return answer_json({"error": why}, status)
