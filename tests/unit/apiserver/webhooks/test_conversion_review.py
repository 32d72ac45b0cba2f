"""ConversionReview: what is asked, and which answers are believed."""

import json
from typing import Any

import msgspec
import pytest

from mooring.apiserver.webhooks.conversion_review import (
    BadConversion,
    question,
    read_answer,
    read_object,
)
from tests.fakes.definitions import Doc

ORIGINAL: Doc = {
    "apiVersion": "g/v1",
    "kind": "X",
    "metadata": {"name": "a", "namespace": "n", "uid": "u", "labels": {"k": "v"}, "generation": 2},
    "spec": {"size": 1},
}


def a_review(**response: Any) -> bytes:
    answer = {"uid": "1", "convertedObjects": [{}], "result": {"status": "Success"}, **response}
    review = {"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1"}
    return json.dumps({**review, "response": answer}).encode()


def converted(**changes: Any) -> msgspec.Raw:
    return msgspec.Raw(json.dumps({**ORIGINAL, "apiVersion": "g/v2", **changes}).encode())


def test_the_question_is_as_upstream_asks_it() -> None:
    assert json.loads(question("v1", "1", "g/v2", [ORIGINAL])) == {
        "kind": "ConversionReview",
        "apiVersion": "apiextensions.k8s.io/v1",
        "request": {"uid": "1", "desiredAPIVersion": "g/v2", "objects": [ORIGINAL]},
        "response": {"uid": "", "convertedObjects": None, "result": {"metadata": {}}},
    }


def test_an_older_review_need_not_repeat_its_uid() -> None:
    assert len(read_answer(a_review(uid=""), "v1beta1", "1", 1)) == 1
    with pytest.raises(BadConversion, match=r'expected response\.uid="1", got ""'):
        read_answer(a_review(uid=""), "v1", "1", 1)


ANSWERS = {
    "nothing": (b"", "the answer cannot be read"),
    "no JSON": (b"<html>", "the answer cannot be read"),
    "no object": (b"[]", "the answer cannot be read"),
    "deep": (b'{"response":{"convertedObjects":[' + b"[" * 100_000, "the answer cannot be read"),
    "no response": (
        b'{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1"}',
        "failed: no response provided",
    ),
    "another document": (
        b'{"kind":"Pod","apiVersion":"v1","response":{}}',
        "expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, "
        "got v1, Kind=Pod",
    ),
    "no result": (a_review(result={}), "response.result.status was '', not 'Success'"),
    "too many": (a_review(convertedObjects=[{}, {}]), "returned 2 objects, expected 1"),
    "none": (a_review(convertedObjects=None), "returned 0 objects, expected 1"),
}


@pytest.mark.parametrize(("body", "told"), ANSWERS.values(), ids=ANSWERS)
def test_what_is_no_answer_is_refused(body: bytes, told: str) -> None:
    with pytest.raises(BadConversion) as refused:
        read_answer(body, "v1", "1", 1)
    assert told in str(refused.value)


def test_metadata_is_that_of_the_original_but_for_labels_and_annotations() -> None:
    metadata = {**ORIGINAL["metadata"], "labels": {"k": "w"}, "finalizers": ["x"], "generation": 9}
    doc = read_object(converted(metadata=metadata), ORIGINAL, "g/v2", 0)
    assert doc["metadata"] == {**ORIGINAL["metadata"], "labels": {"k": "w"}}
    metadata = {"name": "a", "namespace": "n", "uid": "u"}
    doc = read_object(converted(metadata=metadata), ORIGINAL, "g/v2", 0)
    assert "labels" not in doc["metadata"]
    assert doc["metadata"]["generation"] == 2
    assert ORIGINAL["metadata"]["labels"] == {"k": "v"}


def test_annotations_that_were_wrong_before_may_stay() -> None:
    metadata = {**ORIGINAL["metadata"], "annotations": {"not a key": "x"}}
    original = {**ORIGINAL, "metadata": metadata}
    doc = read_object(converted(metadata=metadata), original, "g/v2", 0)
    assert doc["metadata"]["annotations"] == {"not a key": "x"}
    with pytest.raises(BadConversion, match=r"metadata\.annotations: Invalid value"):
        read_object(converted(metadata=metadata), ORIGINAL, "g/v2", 0)
