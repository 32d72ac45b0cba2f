"""Asking the nodes: one that fails hides no other, and says what is missing."""

from collections.abc import Mapping

from mooring.client.contract import EVERYTHING, Listing, Scope, T
from mooring.errors import ConnectionLost, Forbidden, NotFound, Unavailable
from mooring.model.meta import ObjectMeta
from mooring.model.node import Node
from mooring.top.read import read_summaries


class Nodes:
    """A `SummaryReader` over what the test says each node answers."""

    def __init__(self, answers: dict[str, bytes | Exception]) -> None:
        self.answers = answers
        self.asked: list[str] = []

    async def list(self, kind: type[T], scope: Scope = EVERYTHING) -> Listing[T]:
        nodes = [Node(metadata=ObjectMeta(name=name)) for name in self.answers]
        return Listing([node for node in nodes if isinstance(node, kind)], "1")

    async def read(self, path: str, query: Mapping[str, str]) -> bytes:
        self.asked.append(path)
        answer = self.answers[path.split("/")[4].replace("%2F", "/")]
        if isinstance(answer, Exception):
            raise answer
        return answer


async def test_every_node_is_asked_and_one_that_fails_is_told() -> None:
    nodes = Nodes(
        {
            "good": b'{"pods":[]}',
            "gone": Unavailable("dial tcp: no route"),
            "old": NotFound("the server could not find the requested resource"),
            "lost": ConnectionLost("cannot reach it"),
            "secret": Forbidden("nodes/proxy is forbidden"),
            "broken": b"[1",
        }
    )
    measured = await read_summaries(nodes)
    assert set(measured.summaries) == {"good"}
    assert measured.unseen["gone"] == "dial tcp: no route"
    assert measured.unseen["old"] == "its kubelet serves no summary of volumes"
    assert measured.unseen["lost"] == "cannot reach it"
    assert "the right to get nodes/proxy" in measured.unseen["secret"]
    assert measured.unseen["broken"].startswith("its summary cannot be read")


async def test_the_name_of_a_node_stays_one_part_of_the_path() -> None:
    nodes = Nodes({"../../x": b"{}"})
    await read_summaries(nodes)
    assert nodes.asked == ["/api/v1/nodes/..%2F..%2Fx/proxy/stats/summary"]
