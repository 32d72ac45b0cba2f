"""From the kubelets' summaries to rows: each claim once, the fullest first."""

import pytest

from mooring.top.rows import Row, Subject, rows_of
from mooring.top.summary import (
    ClaimName,
    Filled,
    PodName,
    Summary,
    SummaryPod,
    SummaryVolume,
    decode,
)


def a_volume(claim: str, used: int | None, size: int | None = 100) -> SummaryVolume:
    named = ClaimName(claim, "team") if claim else None
    return SummaryVolume(
        name=claim or "scratch", claim=named, used_bytes=used, capacity_bytes=size, time="then"
    )


def a_pod(name: str, *volumes: SummaryVolume) -> SummaryPod:
    return SummaryPod(pod=PodName(name, "team"), volumes=volumes)


def a_node(*pods: SummaryPod) -> Summary:
    return Summary(pods=pods)


WORLD = {
    "n1": a_node(
        a_pod("db", a_volume("data", 40), a_volume("", 5)),
        a_pod("web", a_volume("shared", 90)),
        a_pod("idle"),
    ),
    "n2": a_node(a_pod("web2", a_volume("shared", 90), a_volume("odd", None, None))),
}


def test_a_claim_of_several_pods_is_one_row_and_the_fullest_comes_first() -> None:
    rows = rows_of(Subject.PVC, WORLD)
    assert [(row.name, row.share) for row in rows] == [
        ("shared", 0.9),
        ("data", 0.4),
        ("odd", None),
    ]
    assert (rows[0].nodes, rows[0].pods) == (("n1", "n2"), ("team/web", "team/web2"))


def test_a_pod_has_the_sum_of_its_claims_and_one_without_claims_no_row() -> None:
    rows = {row.name: row for row in rows_of(Subject.POD, WORLD)}
    assert set(rows) == {"db", "web", "web2"}
    assert (rows["db"].used_bytes, rows["db"].capacity_bytes, rows["db"].volumes) == (40, 100, 1)
    assert rows["web2"].used_bytes == 90  # what is not known is not taken for nothing


def test_a_node_has_the_sum_of_its_claims() -> None:
    rows = {row.name: row for row in rows_of(Subject.NODE, WORLD)}
    assert (rows["n1"].used_bytes, rows["n1"].volumes) == (130, 2)
    assert rows["n1"].pods == ("team/db", "team/web")


@pytest.mark.parametrize("subject", Subject)
def test_another_namespace_has_nothing(subject: Subject) -> None:
    rows = rows_of(subject, WORLD, "other")
    assert [row.used_bytes for row in rows if row.used_bytes] == []


@pytest.mark.parametrize(
    ("used", "size", "share"),
    [(5, 10, 0.5), (20, 10, 1.0), (-1, 10, 0.0), (5, 0, None), (None, 10, None), (5, None, None)],
)
def test_a_share_is_between_nothing_and_all_or_not_known(
    used: int | None, size: int | None, share: float | None
) -> None:
    assert Row("x", used_bytes=used, capacity_bytes=size).share == share


def test_a_summary_of_a_kubelet_is_read() -> None:
    text = b"""{"node":{"nodeName":"n1","cpu":{},"fs":{"usedBytes":7}},"pods":[{"podRef":
    {"name":"a","namespace":"b","uid":"c"},"containers":null,"volume":[{"time":"2026-01-01T00:00:00Z",
    "usedBytes":1,"name":"data","pvcRef":{"name":"d","namespace":"b"}}]},{"podRef":{"name":"x",
    "namespace":"b","uid":"u"},"startTime":null,"containers":[]}]}"""
    told = decode(text)
    assert told.node.fs == Filled(used_bytes=7)
    assert told.pods is not None
    assert told.pods[0].volumes is not None
    assert told.pods[0].volumes[0].claim == ClaimName("d", "b")
    assert told.pods[1].volumes is None
    assert decode(b'{"pods":null}').pods is None
