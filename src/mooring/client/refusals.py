"""From what a server refuses with, a `Status` or less, to the error that is raised for it."""

from typing import Any

import msgspec

from mooring import errors
from mooring.errors import ApiError

MOST_SHOWN = 200  # characters of an answer that is no Status
MOST_WORDS = 16 * 1024  # characters of one that is
LONGEST_PAUSE = 600  # seconds that a server may ask for

# Of two with the same code, the last is for answers that give no reason.
_CLASSES: tuple[type[ApiError], ...] = (
    errors.BadRequest,
    errors.Unauthorized,
    errors.Forbidden,
    errors.NotFound,
    errors.MethodNotAllowed,
    errors.NotAcceptable,
    errors.AlreadyExists,
    errors.Conflict,
    errors.Expired,
    errors.TooLarge,
    errors.UnsupportedMedia,
    errors.Invalid,
    errors.TooManyRequests,
    errors.InternalError,
    errors.ServerError,
    errors.ServerTimeout,
)
_BY_REASON: dict[str, type[ApiError]] = {
    **{each.reason: each for each in _CLASSES if each.reason},
    "Gone": errors.Expired,
    "ServerTimeout": errors.ServerTimeout,  # a 500 that asks to be tried again
    "ServiceUnavailable": errors.ServerError,
}
_BY_CODE = {each.code: each for each in _CLASSES}


class _Status(msgspec.Struct, frozen=True):
    """Its details are passed on as they are: each server has its own."""

    message: str = ""
    reason: str = ""
    details: dict[str, Any] | None = None
    code: int = 0


_decode = msgspec.json.Decoder(_Status).decode


def refusal(code: int, body: bytes | msgspec.Raw, retry_after: str | None = None) -> ApiError:
    """The error for an answer; proxies and load balancers in between send no Status."""
    try:
        status = _decode(body)
    except (ValueError, RecursionError):
        status = _Status()
    code = status.code or code
    message = (
        status.message[:MOST_WORDS] or _first_line(bytes(body)) or f"the server answered {code}"
    )
    seconds = _pause((status.details or {}).get("retryAfterSeconds", 0), retry_after)
    return _class_of(status.reason, code)(message, details=status.details, retry_after=seconds)


def _pause(detail: object, header: str | None) -> int:
    """Whatever was said, it is a pause that ends."""
    if header and header.isdecimal():
        detail = int(header[:10])
    return min(max(detail, 0), LONGEST_PAUSE) if isinstance(detail, int) else 0


def _class_of(reason: str, code: int) -> type[ApiError]:
    known = _BY_REASON.get(reason) or _BY_CODE.get(code)
    if known is not None:
        return known
    return errors.BadRequest if 400 <= code < 500 else errors.ServerError


def _first_line(body: bytes) -> str:
    text = body[: 4 * MOST_SHOWN].decode(errors="replace").strip()
    if text.startswith("{"):
        return ""  # a Status without words
    return text.partition("\n")[0][:MOST_SHOWN]
