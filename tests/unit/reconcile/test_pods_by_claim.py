"""Pods are found by their claims, and roles that share an informer share the index."""

from random import Random
from typing import Any

from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.model.wire import read_document
from mooring.reconcile.pods_by_claim import index_by_claim, pods_using
from mooring.reconcile.shared_informer import SharedInformer, SharedInformers
from tests.fakes.client import FakeClient
from tests.fakes.clock import VirtualClock
from tests.fakes.fake_server import FakeServer
from tests.fakes.lagging import reflector_of

VOLUMES: list[dict[str, Any]] = [
    {"name": "named", "persistentVolumeClaim": {"claimName": "data"}},
    {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
    {"name": "none", "emptyDir": {}},
]


def a_pod(name: str) -> Pod:
    metadata = {"namespace": "ns", "name": name, "resourceVersion": "1"}
    return read_document({"metadata": metadata, "spec": {"volumes": VOLUMES}}, Pod)


def shares() -> tuple[SharedInformer[Pod], SharedInformer[Pod]]:
    clock = VirtualClock()
    rng = Random(1)  # noqa: S311 - repeatable, not secret
    informers = SharedInformers(FakeClient(FakeServer(clock), clock), clock, rng)
    ours, theirs = informers.share(Pod), informers.share(Pod)
    assert isinstance(ours, SharedInformer)
    assert isinstance(theirs, SharedInformer)
    return ours, theirs


def test_a_pod_is_found_by_the_claims_it_names_and_those_made_for_it() -> None:
    pods, _ = shares()
    index_by_claim(pods)
    web, other = a_pod("web"), a_pod("other")
    pods.fold(web)
    pods.fold(other)
    assert pods_using(pods, Key("ns", "data")) == [web, other]
    assert pods_using(pods, Key("ns", "web-scratch")) == [web]
    assert pods_using(pods, Key("elsewhere", "data")) == []


def test_two_roles_have_one_index() -> None:
    ours, theirs = shares()
    index_by_claim(ours)
    index_by_claim(theirs)
    assert len(reflector_of(ours)._indexes) == 1
    ours.close()
    web = a_pod("web")
    theirs.fold(web)
    assert pods_using(theirs, Key("ns", "data")) == [web]
