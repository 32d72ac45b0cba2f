"""Requests to the API server of a cluster, from any thread: plain HTTPS on kept connections."""

import http.client
import json
import os
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from mooring.model.document import Doc
from mooring.testing.errors import ClusterError, Refused

SECONDS = 30.0  # for an answer
JSON = "application/json"
LOST = (OSError, http.client.HTTPException)


class Requests:
    """By one user. Connections are kept, but not over a fork."""

    def __init__(self, url: str, ca_certificate: str, token: str) -> None:
        found = urlsplit(url)
        self._host, self._port = found.hostname or "", found.port or 443
        self._tls = ssl.create_default_context(cadata=ca_certificate)
        self._headers = {"Authorization": f"Bearer {token}", "User-Agent": "mooring-testing"}
        self._idle: list[http.client.HTTPSConnection] = []
        self._lock = threading.Lock()
        self._process = os.getpid()

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        query: Mapping[str, str] | None = None,
        content: str = JSON,
        accept: str = JSON,
    ) -> Doc:
        """The answer. Raises: Refused, ClusterError."""
        whole = f"{quote(path)}?{urlencode(query)}" if query else quote(path)
        headers = {**self._headers, "Accept": accept}
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            headers["Content-Type"] = content
        code, answer = self._exchange(method, whole, data, headers)
        told = _decoded(answer)
        if code >= 400:
            raise Refused(code, told, f"{method} {path}")
        return told

    @contextmanager
    def stream(
        self, path: str, query: Mapping[str, str], seconds: float
    ) -> Iterator[Iterator[Doc]]:
        """The lines of an answer; TimeoutError when none comes within `seconds`.

        Raises: Refused, ClusterError.
        """
        connection = self._connection(seconds)
        try:
            connection.request("GET", f"{quote(path)}?{urlencode(query)}", None, self._headers)
            answer = connection.getresponse()
            if answer.status >= 400:
                raise Refused(answer.status, _decoded(answer.read()), f"GET {path}")
            yield (json.loads(line) for line in answer)
        except TimeoutError:
            raise
        except LOST as error:
            raise _unreachable(error) from error
        finally:
            connection.close()

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        if self._process == os.getpid():
            for connection in idle:
                connection.close()

    def _exchange(
        self, method: str, path: str, data: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, bytes]:
        connection, is_kept = self._take()
        try:
            connection.request(method, path, data, dict(headers))
            answer = connection.getresponse()
            read = answer.status, answer.read()
        except LOST as error:
            connection.close()
            if is_kept and not isinstance(error, TimeoutError):
                # The server closes idle connections: it has not seen this request.
                return self._exchange(method, path, data, headers)
            raise _unreachable(error) from error
        except BaseException:  # interrupted: what is left of the answer is nobody's
            connection.close()
            raise
        with self._lock:
            self._idle.append(connection)
        return read

    def _take(self) -> tuple[http.client.HTTPSConnection, bool]:
        with self._lock:
            if self._process != os.getpid():  # a fork: they are the parent's
                self._process, self._idle = os.getpid(), []
            if self._idle:
                return self._idle.pop(), True
        return self._connection(SECONDS), False

    def _connection(self, seconds: float) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(
            self._host, self._port, timeout=seconds, context=self._tls
        )


def _decoded(answer: bytes) -> Doc:
    try:
        told = json.loads(answer)
    except ValueError:
        return {"message": answer.decode(errors="replace")[:1000]}
    return dict(told) if isinstance(told, dict) else {"message": str(told)}


def _unreachable(error: BaseException) -> ClusterError:
    return ClusterError(f"the cluster does not answer: {error or type(error).__name__}")
