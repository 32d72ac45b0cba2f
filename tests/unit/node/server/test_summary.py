"""`/stats/summary` of the node's server."""

from mooring.model.document import Doc
from tests.unit.node.server.running import Node, client_of


async def test_the_summary_is_served_to_who_may_see_statistics(node: Node) -> None:
    asked: list[bool] = []

    async def summarize(*, only_cpu_and_memory: bool) -> Doc:
        asked.append(only_cpu_and_memory)
        return {"node": {"nodeName": "n1"}, "pods": []}

    async with client_of(node) as http, http.get("/stats/summary") as answer:
        assert answer.status == 404  # nobody measures
    node.server.show_summary(summarize)
    async with client_of(node) as http:
        async with http.get("/stats/summary") as answer:
            assert await answer.json() == {"node": {"nodeName": "n1"}, "pods": []}
        await http.get("/stats/summary?only_cpu_and_memory=true")
    stranger = node.tls("eve", "visitors")
    async with client_of(node, stranger) as http, http.get("/stats/summary") as answer:
        assert answer.status == 403
        assert "subresource(s)=[stats]" in await answer.text()
    assert asked == [False, True]
