"""The same requests to Mooring and to a real kube-apiserver: the same answers.

Run by `make conformance`; `cases/` has the requests, `kept.py` the differences on purpose,
`sameness.py` what must differ between any two servers.
"""

import difflib
import itertools
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.conformance.asking import Case, Client, Doc, post
from tests.conformance.cases import ALL
from tests.conformance.kept import kept
from tests.conformance.obtain import KUBE_APISERVERS
from tests.conformance.sameness import comparable

PREPARATION = (
    post("/api/v1/namespaces", {"metadata": {"name": "$name"}}),
    # Theirs has nobody who makes this account; in ours it may be there already.
    post("/api/v1/namespaces/$name/serviceaccounts", {"metadata": {"name": "default"}}),
)

_names = (f"case-{number}" for number in itertools.count(1))


@pytest.fixture(scope="module")
def both() -> Iterator[ThreadPoolExecutor]:
    """Both servers are asked at the same time."""
    with ThreadPoolExecutor(max_workers=2) as executor:
        yield executor


@pytest.mark.parametrize(("words", "case"), ALL.items(), ids=ALL)
def test_same_answers(
    words: str, case: Case, release: str, theirs: Client, ours: Client, both: ThreadPoolExecutor
) -> None:
    name = next(_names)
    wanted, got = both.map(lambda client: answered(client, case, name), (theirs, ours))
    if reason := kept(release).get(words):
        assert got != wanted, f"it does not differ any more, take it off the list: {reason}"
    else:
        assert got == wanted, "\n" + difference(wanted, got)


def answered(client: Client, case: Case, name: str) -> list[Doc]:
    """What is compared of the answers to a case, which has a namespace of its own."""
    client.run(PREPARATION, name)
    return comparable(case, client.run(case, name))


def test_what_is_kept_different_is_a_case() -> None:
    assert {words for release in KUBE_APISERVERS for words in kept(release)} <= set(ALL)


def difference(wanted: list[Doc], got: list[Doc]) -> str:
    theirs, ours = (
        json.dumps(each, indent=1, sort_keys=True).splitlines() for each in (wanted, got)
    )
    return "\n".join(difflib.unified_diff(theirs, ours, "kubernetes", "mooring", lineterm=""))
