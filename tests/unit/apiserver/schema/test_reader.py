"""The quick way to read a body: the same documents, or none."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.apiserver.schema.check import conform
from mooring.apiserver.schema.reader import read_exact
from mooring.apiserver.schema.wrong_type import WrongType
from tests.unit.apiserver.schema.documents import KINDS, documents
from tests.unit.apiserver.schema.test_check import disturbed

Doc = dict[str, Any]
CONFIG = "core.v1.ConfigMap"
VOLUME = "core.v1.PersistentVolume"

LEFT_TO_OTHERS = {
    "an unknown field": (CONFIG, b'{"foo":1}'),
    "an unknown field far down": (VOLUME, b'{"spec":{"csi":{"foo":{}}}}'),
    "a key that comes twice": (CONFIG, b'{"data":{"a":"1","a":"2"}}'),
    "a key that comes twice, once in disguise": (CONFIG, b'{"data":{"a":"1","\\u0061":"2"}}'),
    "a key that comes twice behind an escaped colon": (
        CONFIG,
        b'{"data":{"a":"\\u003a","a":"\\u003a"}}',
    ),
    "the wrong type": (CONFIG, b'{"data":5}'),
    "a fraction for an integer": (CONFIG, b'{"metadata":{"generation":1.0}}'),
    "an integer that is too large": (CONFIG, b'{"metadata":{"generation":9223372036854775808}}'),
    "a bad quantity": (VOLUME, b'{"spec":{"capacity":{"storage":"x"}}}'),
    "bad base64": (CONFIG, b'{"binaryData":{"a":"x"}}'),
    "a null that has to go": (CONFIG, b'{"data":null}'),
    "an empty map that has to go": (CONFIG, b'{"data":{}}'),
    "an empty text that has to go": (CONFIG, b'{"metadata":{"generateName":""}}'),
    "no JSON": (CONFIG, b"{"),
    "no object": (CONFIG, b"[]"),
    "no UTF-8": (CONFIG, b'{"data":{"a":"\xff"}}'),
    "too deep": (CONFIG, b'{"metadata":' * 100_000),
    "something behind": (CONFIG, b"{} x"),
}


@pytest.mark.parametrize(("message", "body"), LEFT_TO_OTHERS.values(), ids=LEFT_TO_OTHERS)
def test_a_body_with_something_odd_is_left_to_others(message: str, body: bytes) -> None:
    assert read_exact(body, message) is None


READ: dict[str, tuple[str, bytes, Doc]] = {
    "the null time that Go clients send": (
        CONFIG,
        b'{"metadata":{"name":"a","creationTimestamp":null}}',
        {"metadata": {"name": "a"}},
    ),
    "zeroes that mean nothing": (
        VOLUME,
        b'{"metadata":{"generation":0},"spec":{"csi":{"driver":"d","readOnly":false}}}',
        {"metadata": {}, "spec": {"csi": {"driver": "d"}}},
    ),
    "spaces and colons in texts": (
        CONFIG,
        b'{ "data" : { "a" : "b:\\"c\\":{d}" } }',
        {"data": {"a": 'b:"c":{d}'}},
    ),
    "quantities and times": (
        VOLUME,
        b'{"spec":{"capacity":{"storage":1024}},'
        b'"status":{"lastPhaseTransitionTime":"2026-01-02T03:04:05.6Z"}}',
        {
            "spec": {"capacity": {"storage": "1024"}},
            "status": {"lastPhaseTransitionTime": "2026-01-02T03:04:05Z"},
        },
    ),
}


@pytest.mark.parametrize(("message", "body", "doc"), READ.values(), ids=READ)
def test_a_right_body_is_read(message: str, body: bytes, doc: Doc) -> None:
    assert read_exact(body, message) == doc


@settings(deadline=None)  # the machine may be busy
@given(st.sampled_from(KINDS).flatmap(lambda kind: st.tuples(st.just(kind), documents(kind))))
def test_every_document_that_conforms_is_read(sample: tuple[str, Doc]) -> None:
    message, doc = sample
    body = json.dumps(doc, ensure_ascii=False).encode()
    assert read_exact(body, message) == doc


@settings(deadline=None)  # the machine may be busy
@given(disturbed())
def test_what_is_read_is_what_conforming_leaves(sample: tuple[str, Doc]) -> None:
    message, doc = sample
    exact = read_exact(json.dumps(doc).encode(), message)
    slow = copy.deepcopy(doc)
    try:
        unknown = conform(slow, message)
    except WrongType:
        assert exact is None
        return
    assert exact is None or (exact == slow and not unknown)
