"""Sequences of requests, and sending them: the same words to whichever server.

In paths and bodies `$name` stands for a name that is the case's own (also its namespace's), and
`${0.metadata.uid}` for a field of the first answer.
"""

import http.client
import json
import re
import ssl
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from mooring.apiserver.codec.protobuf_encode import encode as to_protobuf
from mooring.apiserver.patching.merge import merge_patch

Doc = dict[str, Any]
View = Callable[[Any], Any]
"""What of an answer's document is compared, for answers that differ elsewhere by nature."""

USER_AGENT = "conformance/1"
ANSWER_SECONDS = 60.0

JSON = "application/json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
YAML = "application/yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"

_TAKEN = re.compile(r"\$\{(\d+)\.([^}]+)\}")


class Again(msgspec.Struct, frozen=True):
    """As a body: an earlier answer with a merge patch on it."""

    answer: int
    change: Doc = {}


class Binary(msgspec.Struct, frozen=True):
    """As a body: a document as protobuf; `message` is its name in the schema."""

    doc: Doc
    message: str


class Step(msgspec.Struct, frozen=True):
    """One request, and what of its answer is compared (no view: all of it)."""

    method: str
    path: str
    body: Any = None
    content_type: str = JSON
    headers: Mapping[str, str] = {}
    view: View | None = None

    @property
    def is_watch(self) -> bool:
        return self.method == "GET" and ("watch=" in self.path or "/watch/" in self.path)


Case = Sequence[Step]
Cases = Mapping[str, Case]


def get(path: str, accept: str = "", view: View | None = None) -> Step:
    return Step("GET", path, headers={"Accept": accept} if accept else {}, view=view)


def post(path: str, body: Any, content_type: str = JSON, **headers: str) -> Step:
    return Step("POST", path, body, content_type, _named(headers))


def put(path: str, body: Any, content_type: str = JSON, **headers: str) -> Step:
    return Step("PUT", path, body, content_type, _named(headers))


def patch(path: str, content_type: str, body: Any, **headers: str) -> Step:
    return Step("PATCH", path, body, content_type, _named(headers))


def merge(path: str, body: Any, **headers: str) -> Step:
    return patch(path, MERGE, body, **headers)


def strategic(path: str, body: Any, **headers: str) -> Step:
    return patch(path, STRATEGIC, body, **headers)


def json_patch(path: str, *operations: Doc) -> Step:
    return patch(path, JSON_PATCH, list(operations))


def apply(path: str, manager: str, body: Any, *, force: bool = False) -> Step:
    query = f"{path}?fieldManager={manager}" + ("&force=true" if force else "")
    return patch(query, APPLY, body)


def delete(path: str, body: Any = None, content_type: str = JSON) -> Step:
    return Step("DELETE", path, body, content_type)


def as_user(name: str, step: Step, group: str = "") -> Step:
    more = {"Impersonate-User": name} | ({"Impersonate-Group": group} if group else {})
    return msgspec.structs.replace(step, headers={**step.headers, **more})


def seen_by(view: View, step: Step) -> Step:
    return msgspec.structs.replace(step, view=view)


def _named(headers: Mapping[str, str]) -> dict[str, str]:
    """`Impersonate_User="bob"` as a header."""
    return {name.replace("_", "-"): value for name, value in headers.items()}


class Answer(msgspec.Struct, frozen=True):
    code: int
    headers: Sequence[tuple[str, str]]
    body: bytes
    sent: bytes = b""

    def header(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key.lower() == name.lower()]

    @property
    def doc(self) -> Any:
        return json.loads(self.body)


class Client:
    """One connection to one server, asked as its administrator."""

    def __init__(self, name: str, host: str, port: int, tls: ssl.SSLContext, token: str) -> None:
        self.name = name
        self._token = token
        self._connection = http.client.HTTPSConnection(
            host, port, timeout=ANSWER_SECONDS, context=tls
        )

    def ask(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] = {}
    ) -> Answer:
        given = {"User-Agent": USER_AGENT, "Authorization": f"Bearer {self._token}", **headers}
        self._connection.request(method, path, body, {k: v for k, v in given.items() if v})
        answer = self._connection.getresponse()
        return Answer(answer.status, answer.getheaders(), answer.read(), body or b"")

    def close(self) -> None:
        self._connection.close()

    def run(self, case: Case, name: str) -> list[Answer]:
        """Send the requests of a case, one after the other."""
        answers: list[Answer] = []
        for step in case:
            path = quote(_filled(step.path, name, answers), safe="/?&=%+,:;!()*@~$'")
            body = _body(step.body, name, answers)
            headers = dict(step.headers)
            if body is not None and step.content_type:
                headers["Content-Type"] = step.content_type
            answers.append(self.ask(step.method, path, body, headers))
        return answers


def _body(body: Any, name: str, answers: Sequence[Answer]) -> bytes | None:
    match body:
        case None | bytes():
            return body
        case str():
            return _filled(body, name, answers).encode()
        case Again(answer, change):
            filled = json.loads(_filled(json.dumps(change), name, answers))
            return json.dumps(merge_patch(answers[answer].doc, filled)).encode()
        case Binary(doc, message):
            return to_protobuf(json.loads(_filled(json.dumps(doc), name, answers)), message)
        case _:
            return _filled(json.dumps(body), name, answers).encode()


def _filled(text: str, name: str, answers: Sequence[Answer]) -> str:
    def taken(found: re.Match[str]) -> str:
        value = answers[int(found[1])].doc
        for key in found[2].split("."):
            value = value[int(key)] if isinstance(value, list) else value[key]
        return str(value)

    return _TAKEN.sub(taken, text).replace("$name", name)
