"""The answer to a client when the node refuses, in the words of Kubernetes: pure."""

from mooring.apiserver.documents.document import encode
from mooring.apiserver.request.message import Response
from mooring.errors import ApiError, BadRequest, InternalError
from mooring.model.document import Doc
from mooring.model.field_error import show

_WORDS = {
    401: ("Unauthorized", "the server has asked for the client to provide credentials"),
    404: ("NotFound", "the server could not find the requested resource"),
    405: (
        "MethodNotAllowed",
        "the server does not allow this method on the requested resource",
    ),
    409: ("Conflict", "the server reported a conflict"),
    422: ("Invalid", "the server rejected our request due to an error in our request"),
    429: (
        "TooManyRequests",
        "the server has received too many requests and has asked us to try again later",
    ),
    503: ("ServiceUnavailable", "the server is currently unable to handle the request"),
    504: (
        "Timeout",
        "the server was unable to return a response in the time allotted, "
        "but may still be processing the request",
    ),
}


def log_refusal(code: int, text: str, pod: str) -> Response:
    """The answer to a client whose log a node refused. Raises: ApiError for the common ones."""
    if refused := _plainly(code, text):
        raise refused
    reason, words = _WORDS.get(code, ("", ""))
    if code == 403:
        reason, words = "Forbidden", text
    elif not words and code >= 500:
        reason = "InternalError"
        words = f"an error on the server ({show(text)}) has prevented the request from succeeding"
    elif not words:
        words = (
            f"the server responded with the status code {code} but did not return more information"
        )
    status: Doc = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f"{words} ( pods/log {pod})",
        **({"reason": reason} if reason else {}),
        "details": {"name": pod, "kind": "pods/log"},
        "code": code,
    }
    return Response(code, encode(status))


def _plainly(code: int, text: str) -> ApiError | None:
    match code:
        case 400:
            return BadRequest(text)
        case 500:
            cause = {"message": text}
            return InternalError(f"Internal error occurred: {text}", causes=[cause])
        case _:
            return None
