"""The `ApiError` for a server's refusal, from its `Status` or its HTTP code."""

from typing import Any

import msgspec

from mooring import errors
from mooring.errors import ApiError

MOST_SHOWN = 200  # characters of a response that is not a Status
MOST_WORDS = 16 * 1024  # characters of the message of a Status
LONGEST_PAUSE = 600  # seconds; caps Retry-After

# Of two with the same code, the last is for a Status without a reason.
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
    "ServerTimeout": errors.ServerTimeout,  # sent with code 500: the client should retry
    "ServiceUnavailable": errors.ServerError,
}
_BY_CODE = {each.code: each for each in _CLASSES}


class _Status(msgspec.Struct, frozen=True):
    """A Status. Its details are passed on unchecked: servers differ in them."""

    message: str = ""
    reason: str = ""
    details: dict[str, Any] | None = None
    code: int = 0


_decode = msgspec.json.Decoder(_Status).decode


def refusal(code: int, body: bytes | msgspec.Raw, retry_after: str | None = None) -> ApiError:
    """The error for a refusal; proxies and load balancers send no Status."""
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
    """Seconds to wait, from the Status or the header, bounded by `LONGEST_PAUSE`."""
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
        return ""  # a Status without a message
    return text.partition("\n")[0][:MOST_SHOWN]
