"""Room that is kept for pods that wait for others to end."""

from msgspec.structs import replace

from mooring.model.pod import Pod
from mooring.scheduling.nominations import Nominations
from tests.unit.scheduling.things import a_node, a_pod, asking, view_of


def a_vip(name: str = "vip", priority: int = 100, nominated: str = "") -> Pod:
    pod = a_pod(name, containers=[asking("3")], priority=priority)
    return replace(pod, status=replace(pod.status, nominated_node_name=nominated))


def taken(nominations: Nominations, pod: Pod) -> int:
    """Thousandths of a cpu on the node, as the pod sees it."""
    (node,) = nominations.seen_by(pod, [view_of(a_node())])
    return node.taken.asked.cpu_milli


def test_room_is_kept_from_those_of_no_higher_priority() -> None:
    nominations = Nominations()
    nominations.promise(a_vip(), "n1")
    assert taken(nominations, a_vip("equal")) == 3000
    assert taken(nominations, a_vip("higher", 101)) == 0
    assert taken(nominations, a_vip()) == 0, "it is its own room"


def test_a_promise_ends_when_the_pod_has_a_node_or_is_gone() -> None:
    for after in (None, a_pod("vip", node="n2")):
        nominations = Nominations()
        nominations.promise(a_vip(), "n1")
        nominations.learn(a_vip(), after)
        assert taken(nominations, a_vip("equal")) == 0


def test_a_promise_is_read_from_the_pod_after_a_restart() -> None:
    nominations = Nominations()
    nominations.learn(None, a_vip(nominated="n1"))
    assert taken(nominations, a_vip("equal")) == 3000
    nominations.learn(a_vip(nominated="n1"), a_vip())
    assert taken(nominations, a_vip("equal")) == 0


def test_a_promise_stands_until_it_is_written() -> None:
    nominations = Nominations()
    nominations.promise(a_vip(), "n1")
    nominations.learn(a_vip(), a_vip())
    assert taken(nominations, a_vip("equal")) == 3000


def test_who_is_outranked() -> None:
    nominations = Nominations()
    nominations.promise(a_vip("low", 5), "n1")
    nominations.promise(a_vip("elsewhere", 5), "n2")
    assert [pod.name for pod in nominations.outranked(a_vip(), "n1")] == ["low"]
