"""What two servers may answer differently by nature, blurred; everything else must be equal.

Within one case a uid or a resourceVersion that appears again is blurred to the same word again, so
that "it did not change" is compared too.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from tests.conformance.asking import Answer, Case, Step

HEADERS = ("Content-Type", "Cache-Control", "Retry-After", "Warning")

_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z")
_DRAWN = re.compile(r"(?<=-)[bcdfghjklmnpqrstvwxz2456789]{5}$")
_AGE = re.compile(r"\d+s")
_SCHEME = re.compile(r'(?<=in scheme ")[^"]+')  # a line of source in their build
_ADDRESS = re.compile(r"127\.0\.0\.1:\d+")


class Blurred(msgspec.Struct):
    """What was met so far in the answers of one server to one case."""

    uids: dict[str, str] = {}
    versions: dict[str, str] = {}

    def text(self, text: str) -> str:
        text = _UID.sub(lambda found: self._uid(found[0]), text)
        text = _TIME.sub(lambda found: "<micro time>" if found[1] else "<time>", text)
        for version, word in self.versions.items():
            text = re.sub(rf"(?<![\w.]){version}(?![\w.])", word, text)
        return _ADDRESS.sub("<address>", _SCHEME.sub("<scheme>", text))

    def _uid(self, uid: str) -> str:
        return self.uids.setdefault(uid, f"<uid {len(self.uids) + 1}>")

    def version(self, version: str, *, of_object: bool) -> str:
        if not of_object or not version.isdigit():
            return "<version>" if version.isdigit() else version
        return self.versions.setdefault(version, f"<version {len(self.versions) + 1}>")

    def doc(self, value: Any) -> Any:
        match value:
            case dict():
                return {key: self._field(key, each, value) for key, each in value.items()}
            case list():
                return [self.doc(each) for each in value]
            case str():
                return self.text(value)
            case _:
                return value

    def _field(self, key: str, value: Any, within: dict[str, Any]) -> Any:
        match key, value:
            case "resourceVersion", str():
                return self.version(value, of_object="uid" in within)
            case "continue", str() if value:
                return "<continue>"
            case "token", str() if value.count(".") == 2:
                return "<token>"
            case "name", str() if "generateName" in within or "kube-api-access" in value:
                return _DRAWN.sub("?????", self.text(value))
            case "cells", list():
                ages = (isinstance(cell, str) and _AGE.fullmatch(cell) for cell in value)
                return ["<age>" if a else self.doc(c) for a, c in zip(ages, value, strict=True)]
            case "columnDefinitions", list():
                return [{k: v for k, v in column.items() if k != "description"} for column in value]
            case "managedFields", list():
                return sorted(self.doc(value), key=_owner)  # theirs depends on the clock
            case _:
                return self.doc(value)


def _owner(entry: Any) -> list[str]:
    return [entry.get(key, "") for key in ("manager", "operation", "subresource", "apiVersion")]


def comparable(case: Case, answers: Sequence[Answer]) -> list[Any]:
    """What is compared of these answers, ready to be shown line by line."""
    blurred = Blurred({}, {})
    return [
        _comparable(blurred, step, answer)
        for step, answer in zip(case, answers, strict=True)
    ]


def _comparable(blurred: Blurred, step: Step, answer: Answer) -> Any:
    body = _content(step, answer)
    if step.view is not None:
        body = step.view(body)
    shown = {
        "request": f"{step.method} {step.path}",
        "code": answer.code,
        "headers": {name: answer.header(name) for name in HEADERS if answer.header(name)},
        "body": blurred.doc(body),
    }
    return "hidden" if step.hidden else shown


def _content(step: Step, answer: Answer) -> Any:
    if step.is_watch and answer.code == 200:
        return [json.loads(line) for line in answer.body.splitlines() if line]
    try:
        return json.loads(answer.body)
    except ValueError:
        return answer.body.decode(errors="replace")
