"""Documents that a schema allows and nobody expects: extremes of every number, time, quantity and
text, at places that the schema knows and authors forget.

A `Hostile` changes one value of a document at a time, so that whoever tries can keep what the
server accepts: what validation refuses never meets anybody else.
"""

import base64
import copy
import random
from collections.abc import Sequence
from typing import Any

from mooring.apiserver.schema.contract import Field, Scalar, Schema, Shape

Doc = dict[str, Any]

MOST64, MOST32 = 2**63 - 1, 2**31 - 1

_LONG = "x" * 200
_INTEGERS64 = (0, 1, -1, MOST64, -MOST64 - 1, MOST64 - 1, 2**32, 10**15)
_INTEGERS32 = (0, 1, -1, MOST32, -MOST32 - 1)
_DAYS = (
    "0001-01-01T00:00:01",
    "0001-01-01T00:00:00",
    "1582-10-04T00:00:00",
    "1970-01-01T00:00:00",
    "2026-01-02T03:04:05",
    "9999-12-31T23:59:59",
)
_QUANTITIES = (
    *("0", "-0", "1", "-1", "1n", "-1n", "1m", "9223372036854775807", "-9223372036854775808"),
    *("99999999999999999999999999", "1E18", "8Ei", "-8Ei", "9E", "1e18", "1e-9", "0.000000001"),
    *("1e99", "1Gi", "5Gi", "1023Pi", 5, 1.5, -7, MOST64),
)
_TEXTS = (
    *("", "a", "A", "0", "-", "x" * 63, "x" * 253, _LONG * 10, "true", "null", "1e9", "9" * 40),
    *(
        "ü",
        "日本",
        "\U0001f600",
        "\u2028",
        "a b",
        "a/b",
        "a.b/c",
        "..",
        "a\nb",
        "%s%d{}",
        "$(HOME)",
    ),
    *("n1", "data", "disk", "fast", "web", "main", "default", "settings", "password", "robot"),
    *("d.example.com", "kubernetes.io/host-path", "kubernetes.io/no-provisioner", "busybox:1"),
    *("ReadWriteOnce", "ReadWriteOncePod", "ReadOnlyMany", "Block", "Filesystem", "Retain"),
    *("Delete", "Recycle", "Immediate", "WaitForFirstConsumer", "Always", "Never", "OnFailure"),
    *("IfNotPresent", "True", "False", "Unknown", "Ready", "Bound", "Pending", "Running", "Failed"),
    *("Succeeded", "Available", "Released", "Lost", "In", "NotIn", "Exists", "Gt", "Lt", "Equal"),
    *("NoSchedule", "NoExecute", "Memory", "RuntimeDefault", "Unconfined", "tcp", "TCP", "HTTP"),
    *("PersistentVolumeClaim", "VolumeSnapshot", "Pod", "ConfigMap", "v1", "apps/v1", "storage"),
    *("kubernetes.io/hostname", "topology.kubernetes.io/zone", "spec.nodeName", "metadata.name"),
    *("requests.cpu", "cpu", "memory", "ephemeral-storage", "foregroundDeletion", "orphan"),
    *("example.com/hold", "ControllerResizeInProgress", "NodeResizePending", "InProgress"),
)
_BYTES = ("", "AA==", base64.b64encode(bytes(range(256))).decode())
_ANYTHING: tuple[Any, ...] = (None, True, MOST64, 1e308, "x", [], {}, {"a": [{"b": None}]})

_KEPT = {"kind", "apiVersion", "name", "namespace", "uid", "resourceVersion", "generateName"}
_SKIPPED = {"gitRepo"}  # runs a program with what it is given
_TAMED = {"replicas": (0, 1, 3), "parallelism": (0, 1, 3)}  # more pods are made, as upstream
DEEPEST = 12


class Hostile:
    def __init__(self, schema: Schema, rng: random.Random) -> None:
        self._schema = schema
        self._rng = rng

    def changed(self, doc: Doc, message: str, *, below: str = "") -> Doc:
        """The document with one value changed, removed or added; `below` one field, or anywhere."""
        new = copy.deepcopy(doc)
        if below:
            field = self._schema.message(message).fields[below]
            holder = new.setdefault(below, {})
            if isinstance(field.type, str) and isinstance(holder, dict):
                self._change(holder, field.type, 1)
            return new
        self._change(new, message, 0)
        return new

    def _change(self, doc: Doc, message: str, depth: int) -> None:
        fields = [
            field
            for field in self._schema.message(message).fields.values()
            if field.name not in _SKIPPED
            and not (depth < 2 and field.name in _KEPT)
            and not (depth == 0 and field.name == "status")
        ]
        if not fields or depth > DEEPEST:
            return
        present = [field for field in fields if field.name in doc]
        pool = present if present and self._rng.random() < 0.5 else fields
        field = self._rng.choice(pool)
        if field.inline and isinstance(field.type, str):
            self._change(doc, field.type, depth)
        elif depth and field.name in doc and self._rng.random() < 0.1:
            del doc[field.name]
        else:
            doc[field.name] = self._shaped(field, doc.get(field.name), depth)

    def _shaped(self, field: Field, known: Any, depth: int) -> Any:
        match field.shape:
            case Shape.ONE:
                return self._value(field, known, depth)
            case Shape.LIST:
                items = list(known) if isinstance(known, list) else []
                if items and self._rng.random() < 0.7:
                    at = self._rng.randrange(len(items))
                    items[at] = self._value(field, items[at], depth)
                else:
                    items.append(self._value(field, None, depth))
                return items
            case Shape.MAP:
                entries = dict(known) if isinstance(known, dict) else {}
                key = self._pick([*entries, *_TEXTS])
                entries[str(key)] = self._value(field, entries.get(key), depth)
                return entries

    def _value(self, field: Field, known: Any, depth: int) -> Any:
        if isinstance(field.type, str):
            inner = dict(known) if isinstance(known, dict) else {}
            for _ in range(1 if inner else self._rng.randint(1, 3)):
                self._change(inner, field.type, depth + 1)
            return inner
        if field.name in _TAMED:
            return self._pick(_TAMED[field.name])
        return self._scalar(field.type)

    def _scalar(self, type: Scalar) -> Any:
        match type:
            case Scalar.STRING:
                return self._pick(_TEXTS)
            case Scalar.INT32:
                return self._pick(_INTEGERS32)
            case Scalar.INT64:
                return self._pick(_INTEGERS64)
            case Scalar.BOOL:
                return self._pick((True, False))
            case Scalar.BYTES:
                return self._pick(_BYTES)
            case Scalar.DOUBLE:
                return self._pick((0.0, -1.0, 1e308, 5e-324))
            case Scalar.QUANTITY:
                return self._pick(_QUANTITIES)
            case Scalar.TIME:
                return f"{self._pick(_DAYS)}Z"
            case Scalar.MICRO_TIME:
                return f"{self._pick(_DAYS)}.999999Z"
            case Scalar.INT_OR_STRING:
                return self._pick((*_INTEGERS32, *_TEXTS))
            case Scalar.FIELDS_V1:
                return {"f:metadata": {}}
            case Scalar.ANY:
                return self._pick(_ANYTHING)
            case Scalar.JSON_SCHEMA:
                return self._pick(({}, {"type": "object"}, {"type": "nonsense", "items": []}))

    def _pick(self, choices: Sequence[Any]) -> Any:
        return self._rng.choice(choices)
