"""What two servers may answer differently by nature, blurred; everything else must be equal.

Within one case a uid or a resourceVersion that appears again is blurred to the same word again, so
that "it did not change" is compared too.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from tests.conformance.asking import Answer, Case, Doc, Step

HEADERS = ("Content-Type", "Cache-Control", "Retry-After", "Warning")

_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"(?!2001)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z")  # 2001: from a case
_PREFIX = re.compile(rb'"generateName": *"([^"]+)"')
_LETTERS = "[bcdfghjklmnpqrstvwxz2456789]{5}"
_MOUNTED_TOKEN = re.compile(rf"(?<=kube-api-access-){_LETTERS}")
_STORAGE_ERROR = re.compile(
    r"StorageError: invalid object, Code: \d, Key: \S+, ResourceVersion: \d+, AdditionalErrorMsg: "
)
_AGE = re.compile(r"\d+s")
_SCHEME = re.compile(r'(?<=in scheme ")[^"]+')  # a line of source in their build
# Theirs shows the difference of two Go structs, ours the fields that changed.
_DIFFERENCE = re.compile(
    r"((?:immutable after creation|may not change fields)[^\n]*)\n.*?"
    r"(?=, [a-zA-Z.\[\]0-9]+: [A-Z]|\Z)",
    re.DOTALL,
)
# Theirs shows values in the words of its internal structs: other capitals, empty fields too.
_VALUE = re.compile(r"(?<= value: )\{.*\}(?=: |\Z|\])", re.IGNORECASE | re.DOTALL)
_QUOTED = re.compile(
    r'(?<=patch: Invalid value: )"\{.*\}"(?=: )|(?<=^Invalid value: )"\{.*\}"(?=: )', re.DOTALL
)
_TOKEN = re.compile(r"(?<=continue key is not valid: ).*")  # tokens are private
_CURRENT = re.compile(r"(?<=current: )\d+")
_LINE = re.compile(r"yaml: line \d+")  # parsers count from different places
_ADDRESS = re.compile(r"127\.0\.0\.1:\d+")


class Blurred(msgspec.Struct):
    """What was met so far in the answers of one server to one case."""

    uids: dict[str, str] = {}
    versions: dict[str, str] = {}
    prefixes: set[str] = set()

    def learn(self, sent: bytes) -> None:
        """Note for which prefixes the server was asked to draw a name."""
        self.prefixes |= {found.decode()[:58] for found in _PREFIX.findall(sent)}

    def text(self, text: str) -> str:
        for prefix in self.prefixes:
            text = re.sub(f"(?<={re.escape(prefix)}){_LETTERS}", "?????", text)
        text = _STORAGE_ERROR.sub("", _MOUNTED_TOKEN.sub("?????", text))
        text = _UID.sub(lambda found: self._uid(found[0]), text)
        text = _TIME.sub(lambda found: "<micro time>" if found[1] else "<time>", text)
        text = _DIFFERENCE.sub(r"\1 <the difference>", text)
        text = _QUOTED.sub(_plain, _VALUE.sub(_plain, text))
        text = _LINE.sub("yaml: line ?", _TOKEN.sub("?", _CURRENT.sub("?", text)))
        return _ADDRESS.sub("<address>", _SCHEME.sub("<scheme>", text))

    def message(self, text: str) -> str:
        """Where versions are quoted, too."""
        text = self.text(text)
        for version, word in self.versions.items():
            text = re.sub(rf"(?<![\w.-])(?<!RFC ){version}(?![\w.])", word, text)
        return text

    def _uid(self, uid: str) -> str:
        return self.uids.setdefault(uid, f"<uid {len(self.uids) + 1}>")

    def version(self, version: str, *, of_object: bool) -> str:
        if not of_object or not version.isdigit():
            return "<version>" if version.isdigit() else version
        return self.versions.setdefault(version, f"<version {len(self.versions) + 1}>")

    def doc(self, value: Any) -> Any:
        match value:
            case dict():
                return {
                    self.text(key): self._field(key, each, value) for key, each in value.items()
                }
            case list():
                return [self.doc(each) for each in value]
            case str():
                return self.text(value)
            case _:
                return value

    def _field(self, key: str, value: Any, within: dict[str, Any]) -> Any:
        match key, value:
            case "message", str():
                return self.message(value)
            case "resourceVersion", str():
                return self.version(value, of_object="uid" in within)
            case "continue", str() if value:
                return "<continue>"
            case "token", str() if value.count(".") == 2:
                return "<token>"
            case "causes", list():
                return _causes(self.doc(value))
            case "cells", list():
                ages = (isinstance(cell, str) and _AGE.fullmatch(cell) for cell in value)
                return ["<age>" if a else self.doc(c) for a, c in zip(ages, value, strict=True)]
            case "columnDefinitions", list():
                return [{k: v for k, v in column.items() if k != "description"} for column in value]
            case "managedFields", [dict(), *_]:
                return sorted(self.doc(value), key=_owner)  # theirs depends on the clock
            case _:
                return self.doc(value)


def _causes(causes: list[Any]) -> list[Any]:
    """Without repetition: theirs validates some things twice. Conflicts come in any order."""
    texts = dict.fromkeys(map(json.dumps, causes))
    is_conflict = any(cause.get("reason") == "FieldManagerConflict" for cause in causes)
    return list(map(json.loads, sorted(texts) if is_conflict else texts))


def _plain(found: re.Match[str]) -> str:
    try:
        value = json.loads(found[0])
        value = json.loads(value) if isinstance(value, str) else value
        return json.dumps(_lowered(value), sort_keys=True)
    except ValueError:
        return found[0]


def _lowered(value: Any) -> Any:
    if isinstance(value, list):
        return [_lowered(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {key.lower(): _lowered(each) for key, each in value.items() if each}


def _owner(entry: Any) -> list[str]:
    return [entry.get(key, "") for key in ("manager", "operation", "subresource", "apiVersion")]


def comparable(case: Case, answers: Sequence[Answer]) -> list[Doc]:
    """What is compared of these answers, ready to be shown line by line."""
    blurred = Blurred({}, {}, set())
    return [_comparable(blurred, step, answer) for step, answer in zip(case, answers, strict=True)]


def _comparable(blurred: Blurred, step: Step, answer: Answer) -> Doc:
    blurred.learn(answer.sent)
    body = _content(step, answer)
    if step.view is not None:
        body = step.view(body)
    return {
        "request": f"{step.method} {step.path}",
        "code": answer.code,
        "headers": {name: answer.header(name) for name in HEADERS if answer.header(name)},
        "body": blurred.doc(body),
    }


def _is_idle_word(event: Any) -> bool:
    """A bookmark that only says how far the stream is; they come when a server likes."""
    metadata = event["object"].get("metadata", {})
    return event["type"] == "BOOKMARK" and "annotations" not in metadata


def _content(step: Step, answer: Answer) -> Any:
    if step.is_watch and answer.code == 200:
        events = [json.loads(line) for line in answer.body.splitlines() if line]
        if all("object" in event for event in events):
            return [event for event in events if not _is_idle_word(event)]
    try:
        return json.loads(answer.body)
    except ValueError:
        return answer.body.decode(errors="replace")
