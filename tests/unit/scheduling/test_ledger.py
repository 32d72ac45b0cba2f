"""What is on every node."""

from hypothesis import given
from hypothesis import strategies as st

from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.scheduling.decide.requests import demand_of
from mooring.scheduling.ledger import Ledger
from mooring.scheduling.view import Amounts, NodeView
from tests.unit.scheduling.things import (
    a_csi_node,
    a_node,
    a_pod,
    an_attachment,
    asking,
)

DATA = Key("default", "data")


def a_ledger(*pods: Pod) -> Ledger:
    ledger = Ledger()
    ledger.learn_node(None, a_node())
    for pod in pods:
        ledger.learn_pod(None, pod)
    return ledger


def only(ledger: Ledger) -> NodeView:
    (view,) = ledger.nodes()
    return view


def test_a_pod_counts_on_its_node() -> None:
    pod = a_pod("web", "data", node="n1", containers=[asking("1", "1Gi")])
    ledger = a_ledger(pod)
    view = only(ledger)
    assert view.pods == {pod.key: pod}
    assert view.claims == {DATA}
    assert view.taken == demand_of(pod)
    assert ledger.is_claim_used(DATA)


def test_a_pod_without_a_node_does_not_count() -> None:
    ledger = a_ledger(a_pod("web", "data"))
    assert not only(ledger).pods
    assert not ledger.is_claim_used(DATA)


def test_a_pod_that_goes_takes_everything_along() -> None:
    pod = a_pod("web", "data", "data", node="n1", containers=[asking("1")])
    ledger = a_ledger(pod)
    ledger.learn_pod(pod, None)
    view = only(ledger)
    assert (view.pods, view.claims, view.taken.asked) == ({}, frozenset(), Amounts())
    assert not ledger.is_claim_used(DATA)


def test_ephemeral_claims_count_on_the_node_but_are_nobody_elses() -> None:
    pod = a_pod(node="n1", volumes=[{"name": "v", "ephemeral": {}}])
    ledger = a_ledger(pod)
    assert only(ledger).claims == {Key("default", "web-v")}
    assert not ledger.is_claim_used(Key("default", "web-v"))


def test_an_assumed_pod_counts_until_the_api_shows_it() -> None:
    ledger = a_ledger(a_pod())
    ledger.assume(a_pod(node="n1", containers=[asking("1")]))
    assert ledger.is_assumed(Key("default", "web"))
    ledger.learn_pod(a_pod(), a_pod())  # its status changed
    assert ledger.is_assumed(Key("default", "web"))
    ledger.learn_pod(a_pod(), a_pod(node="n1", containers=[asking("1")]))
    assert not ledger.is_assumed(Key("default", "web"))
    assert only(ledger).taken.asked == Amounts(1000)


def test_a_pod_that_somebody_else_put_elsewhere() -> None:
    ledger = a_ledger()
    ledger.learn_node(None, a_node("n2"))
    ledger.assume(a_pod(node="n1", containers=[asking("1")]))
    ledger.learn_pod(a_pod(), a_pod(node="n2", containers=[asking("1")]))
    taken = {view.name: view.taken.asked.cpu_milli for view in ledger.nodes()}
    assert taken == {"n1": 0, "n2": 1000}


def test_a_pod_that_asks_for_less() -> None:
    before = a_pod(node="n1", containers=[asking("2")])
    ledger = a_ledger(before)
    ledger.learn_pod(before, a_pod(node="n1", containers=[asking("1")]))
    assert only(ledger).taken.asked == Amounts(1000)


def test_pods_may_be_known_before_their_node() -> None:
    ledger = Ledger()
    ledger.learn_pod(None, a_pod(node="n1"))
    ledger.learn_csi(None, a_csi_node(most=3))
    assert ledger.nodes() == []
    ledger.learn_node(None, a_node())
    view = only(ledger)
    assert len(view.pods) == 1
    assert view.csi == a_csi_node(most=3)


def test_a_node_that_goes_and_comes_back() -> None:
    ledger = a_ledger(a_pod(node="n1"))
    ledger.learn_node(a_node(), None)
    assert ledger.nodes() == []
    ledger.learn_node(None, a_node())
    assert len(only(ledger).pods) == 1


def test_attachments() -> None:
    ledger = a_ledger()
    link = an_attachment("disk")
    ledger.learn_attachment(None, link)
    assert only(ledger).attachments == (link,)
    ledger.learn_attachment(link, link)
    assert only(ledger).attachments == (link,)
    ledger.learn_attachment(link, None)
    assert only(ledger).attachments == ()


def test_a_view_does_not_change() -> None:
    ledger = a_ledger()
    before = only(ledger)
    assert only(ledger) is before, "nothing happened"
    ledger.learn_pod(None, a_pod(node="n1"))
    assert not before.pods


PODS = st.builds(
    lambda name, node, cpu, claim: a_pod(name, claim, node=node, containers=[asking(cpu)]),
    st.sampled_from("abc"),
    st.sampled_from(["", "n1", "n2"]),
    st.sampled_from(["1", "250m"]),
    st.sampled_from(["x", "y"]),
)


@given(st.lists(st.tuples(PODS, st.sampled_from(["learn", "assume", "forget"])), max_size=10))
def test_sums_are_those_of_the_pods_that_count(events: list[tuple[Pod, str]]) -> None:
    ledger = Ledger()
    for name in ("n1", "n2"):
        ledger.learn_node(None, a_node(name))
    for pod, what in events:
        if what == "forget":
            ledger.learn_pod(pod, None)
        elif what == "assume" and pod.is_scheduled:
            ledger.assume(pod)
        else:
            ledger.learn_pod(None, pod)
    for view in ledger.nodes():
        total = Amounts()
        for pod in view.pods.values():
            assert pod.spec.node_name == view.name
            total = total.plus(demand_of(pod).asked)
        assert view.taken.asked == total
        used = {Key("default", name) for pod in view.pods.values() for name in pod.claim_names()}
        assert view.claims == used
        assert all(ledger.is_claim_used(key) for key in used)
