"""Answers to requests that cannot be parsed or taken; the connection is closed behind them."""


def _response(status: str, headers: str = "", body: str = "") -> bytes:
    head = f"HTTP/1.1 {status}\r\nConnection: close\r\n{headers}Content-Length: {len(body)}\r\n\r\n"
    return (head + body).encode()


BAD_REQUEST = _response("400 Bad Request")
TOO_LARGE = _response("413 Request Entity Too Large")
URL_TOO_LONG = _response("414 URI Too Long")
TOO_MANY_CONNECTIONS = _response(
    "429 Too Many Requests",
    "Retry-After: 5\r\nContent-Type: text/plain; charset=utf-8\r\n",
    "too many connections of this user\n",
)
HEADERS_TOO_LARGE = _response("431 Request Header Fields Too Large")
