"""What is written of a service and its pods; and laws that hold for any pods."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.controllers.endpoints.decide.service import ENDPOINTS_BY, SLICES_BY, decide
from mooring.controllers.endpoints.decide.slices import MOST_IN_SLICE
from mooring.controllers.endpoints.plan import (
    CreateEndpoints,
    CreateSlice,
    DeleteEndpoints,
    DeleteSlice,
    UpdateEndpoints,
    UpdateSlice,
)
from mooring.controllers.endpoints.view import ServiceView
from mooring.model.endpoints import Endpoints
from mooring.model.pod import Pod
from mooring.model.service import Service
from mooring.model.wire import read_document
from tests.unit.controllers.endpoints.served import GONE, a_pod, a_service, carried_out

Doc = dict[str, Any]


def written(service: Service, *pods: Pod) -> tuple[list[Doc], Doc]:
    """The slices and the Endpoints that are made from nothing."""
    steps = decide(ServiceView(service, pods)).steps
    slices = [step.document() for step in steps if isinstance(step, CreateSlice)]
    (endpoints,) = [step.document() for step in steps if isinstance(step, CreateEndpoints)]
    return slices, endpoints


def test_a_ready_pod() -> None:
    pod = a_pod("web-0", hostname="web-0", subdomain="web")
    (slice_,), endpoints = written(a_service(), pod)
    target = {"kind": "Pod", "namespace": "ns", "name": "web-0", "uid": "u-web-0"}
    assert slice_ == {
        "kind": "EndpointSlice",
        "apiVersion": "discovery.k8s.io/v1",
        "metadata": {
            "generateName": "web-",
            "namespace": "ns",
            "labels": {
                "tier": "front",
                "service.kubernetes.io/headless": "",
                "kubernetes.io/service-name": "web",
                "endpointslice.kubernetes.io/managed-by": SLICES_BY,
            },
            "ownerReferences": [
                {
                    "apiVersion": "v1",
                    "kind": "Service",
                    "name": "web",
                    "uid": "u-web",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "addressType": "IPv4",
        "endpoints": [
            {
                "addresses": ["10.0.0.1"],
                "conditions": {"ready": True, "serving": True, "terminating": False},
                "hostname": "web-0",
                "targetRef": target,
                "nodeName": "n1",
            }
        ],
        "ports": [{"name": "http", "port": 8080}],
    }
    assert endpoints == {
        "kind": "Endpoints",
        "apiVersion": "v1",
        "metadata": {
            "name": "web",
            "namespace": "ns",
            "labels": {
                "tier": "front",
                "service.kubernetes.io/headless": "",
                "endpoints.kubernetes.io/managed-by": ENDPOINTS_BY,
            },
            "annotations": {},
        },
        "subsets": [
            {
                "addresses": [
                    {
                        "ip": "10.0.0.1",
                        "hostname": "web-0",
                        "nodeName": "n1",
                        "targetRef": target,
                    }
                ],
                "ports": [{"name": "http", "port": 8080}],
            }
        ],
    }


EARLY = {"publishNotReadyAddresses": True}
CONDITIONS: dict[str, tuple[Doc, Pod, tuple[bool, bool, bool], str]] = {
    "ready": ({}, a_pod("p"), (True, True, False), "addresses"),
    "not ready": ({}, a_pod("p", ready=False), (False, False, False), "notReadyAddresses"),
    "about to end": ({}, a_pod("p", going=True), (False, True, True), ""),
    "not ready, but shown": (EARLY, a_pod("p", ready=False), (True, False, False), "addresses"),
    "about to end, but shown": (EARLY, a_pod("p", going=True), (True, True, True), "addresses"),
}


@pytest.mark.parametrize(
    ("spec", "pod", "conditions", "where"), CONDITIONS.values(), ids=CONDITIONS
)
def test_whether_a_pod_takes_connections(
    spec: Doc, pod: Pod, conditions: tuple[bool, bool, bool], where: str
) -> None:
    (slice_,), endpoints = written(a_service(spec=spec), pod)
    (shown,) = slice_["endpoints"]
    assert tuple(shown["conditions"].values()) == conditions
    places = [set(subset) - {"ports"} for subset in endpoints["subsets"]]
    assert places == ([{where}] if where else [])


NOBODY: dict[str, Pod] = {
    "no address yet": a_pod("p", ""),
    "no address at all": a_pod("p", "nowhere"),
    "an address that only its machine reaches": a_pod("p", "127.0.0.1"),
    "one that has ended": read_document(
        {
            "metadata": {"name": "p", "namespace": "ns", "labels": {"app": "web"}},
            "status": {"phase": "Succeeded", "podIP": "10.0.0.1"},
        },
        Pod,
    ),
}


@pytest.mark.parametrize("pod", NOBODY.values(), ids=NOBODY)
def test_a_service_with_nobody_behind_it_has_an_empty_slice(pod: Pod) -> None:
    (slice_,), endpoints = written(a_service(), pod)
    assert (slice_["endpoints"], slice_["ports"], endpoints["subsets"]) == ([], [], [])


PORTS: dict[str, tuple[list[Doc], list[Doc]]] = {
    "none": ([], []),
    "a number": ([{"port": 80, "targetPort": 81}], [{"port": 81}]),
    "that of the service": ([{"port": 80}], [{"port": 80}]),
    "a name that the pod does not have": ([{"port": 80, "targetPort": "ftp"}], []),
    "a name of another protocol": ([{"port": 80, "targetPort": "http", "protocol": "UDP"}], []),
}


@pytest.mark.parametrize(("given_ports", "ports"), PORTS.values(), ids=PORTS)
def test_ports(given_ports: list[Doc], ports: list[Doc]) -> None:
    (slice_,), endpoints = written(a_service(spec={"ports": given_ports}), a_pod("p"))
    assert slice_["ports"] == ports
    shown = endpoints["subsets"]
    assert [subset.get("ports", []) for subset in shown] == (
        [] if given_ports and not ports else [ports]
    )


def test_pods_that_number_a_port_differently_are_in_different_slices() -> None:
    containers = [{"name": "c", "ports": [{"name": "http", "containerPort": 9090}]}]
    other = a_pod("b", "10.0.0.2", containers=containers)
    slices, endpoints = written(a_service(), a_pod("a"), other)
    assert [slice_["ports"][0]["port"] for slice_ in slices] == [8080, 9090]
    assert [subset["ports"][0]["port"] for subset in endpoints["subsets"]] == [8080, 9090]


def test_both_families_of_addresses() -> None:
    slices, _ = written(a_service(), a_pod("a"), a_pod("b", "fd00::1"))
    assert [slice_["addressType"] for slice_ in slices] == ["IPv4", "IPv6"]


LEFT_ALONE: dict[str, Service] = {
    "no selector": a_service(spec={"selector": {}}),
    "a name elsewhere": a_service(spec={"type": "ExternalName", "externalName": "example.com"}),
    "on its way out": a_service(deletionTimestamp=GONE),
}


@pytest.mark.parametrize("service", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_is_left_alone(service: Service) -> None:
    assert decide(ServiceView(service, (a_pod("p"),))).steps == ()


def test_endpoints_go_with_their_service_but_not_those_of_others() -> None:
    _, made = written(a_service(), a_pod("p"))
    own = read_document(made, Endpoints)
    others = read_document({"metadata": {"name": "web", "namespace": "ns"}}, Endpoints)
    assert decide(ServiceView(None, endpoints=own)).steps == (DeleteEndpoints(own),)
    assert decide(ServiceView(None, endpoints=others)).steps == ()


def test_more_pods_than_one_object_holds() -> None:
    pods = [
        a_pod(f"p{number:04}", f"10.0.{number // 250}.{number % 250}") for number in range(1001)
    ]
    slices, endpoints = written(a_service(), *pods)
    assert [len(slice_["endpoints"]) for slice_ in slices] == [100] * 10 + [1]
    (subset,) = endpoints["subsets"]
    assert len(subset["addresses"]) == 1000
    said = endpoints["metadata"]["annotations"]
    assert said == {"endpoints.kubernetes.io/over-capacity": "truncated"}


def test_a_pod_that_changes_stays_in_its_slice() -> None:
    before = ServiceView(a_service(), (a_pod("a"), a_pod("b", "10.0.0.2")))
    before = carried_out(before, decide(before).steps)
    after = ServiceView(
        before.service,
        (a_pod("b", "10.0.0.2", ready=False), a_pod("c", "10.0.0.3")),
        before.slices,
        before.endpoints,
    )
    slice_step, endpoints_step = decide(after).steps
    assert isinstance(slice_step, UpdateSlice)
    assert isinstance(endpoints_step, UpdateEndpoints)
    assert [each.addresses[0] for each in slice_step.endpoints] == ["10.0.0.2", "10.0.0.3"]


def test_labels_of_the_service_go_along_and_away() -> None:
    before = ServiceView(a_service(), (a_pod("a"),))
    before = carried_out(before, decide(before).steps)
    renamed = ServiceView(
        a_service(labels={"tier": "back"}), before.pods, before.slices, before.endpoints
    )
    for step in decide(renamed).steps:
        assert isinstance(step, UpdateSlice | UpdateEndpoints)
        assert step.change()["metadata"]["labels"]["tier"] == "back"
    bare = ServiceView(a_service(labels={}), before.pods, before.slices, before.endpoints)
    for step in decide(bare).steps:
        assert isinstance(step, UpdateSlice | UpdateEndpoints)
        assert step.change()["metadata"]["labels"]["tier"] is None


# laws

_PODS = st.lists(
    st.tuples(st.integers(0, 260), st.booleans(), st.booleans(), st.sampled_from((8080, 9090))),
    max_size=260,
    unique_by=lambda drawn: drawn[0],
)


def _pods(drawn: list[tuple[int, bool, bool, int]]) -> tuple[Pod, ...]:
    return tuple(
        a_pod(
            f"p{number}",
            f"10.0.0.{number % 4 + 1}",  # pods share the addresses of their nodes
            ready=ready,
            going=going,
            containers=[{"name": "c", "ports": [{"name": "http", "containerPort": port}]}],
        )
        for number, ready, going, port in drawn
    )


def _shown(view: ServiceView) -> list[str]:
    endpoints = [each for slice_ in view.slices for each in slice_.endpoints or ()]
    return sorted(each.target_ref.name for each in endpoints if each.target_ref is not None)


@settings(max_examples=40, deadline=None)
@given(_PODS, _PODS, st.integers(0, 12))
def test_every_pod_is_in_one_slice_whatever_was_there_and_wherever_it_was_cut(
    before: list[tuple[int, bool, bool, int]], after: list[tuple[int, bool, bool, int]], cut: int
) -> None:
    service = a_service()
    first = ServiceView(service, _pods(before))
    first = carried_out(first, decide(first).steps, "a")
    then = ServiceView(service, _pods(after), first.slices, first.endpoints)
    stays = {pod.name for pod in first.pods} & {pod.name for pod in then.pods}
    numbers = {pod.name: pod.spec.containers[0].ports for pod in first.pods}
    same = {
        pod.name
        for pod in then.pods
        if pod.name in stays and pod.spec.containers[0].ports == numbers[pod.name]
    }
    halfway = carried_out(then, decide(then).steps[:cut], "b")
    assert same <= set(_shown(halfway)), "an address that is still wanted was lost"

    finished = carried_out(halfway, decide(halfway).steps, "c")

    assert _shown(finished) == sorted(pod.name for pod in then.pods)
    assert all(len(each.endpoints or ()) <= MOST_IN_SLICE for each in finished.slices)
    assert finished.slices
    assert decide(finished).steps == (), "it does not come to rest"


def test_an_empty_slice_takes_the_place_of_the_last_full_one() -> None:
    full = ServiceView(a_service(), (a_pod("a"),))
    full = carried_out(full, decide(full).steps)
    steps = decide(ServiceView(full.service, (), full.slices, full.endpoints)).steps
    assert not any(isinstance(step, DeleteSlice) for step in steps)
    (updated,) = [step for step in steps if isinstance(step, UpdateSlice)]
    assert (updated.endpoints, updated.ports) == ((), ())
