"""Machines that want to join and have no token for it, or a server that cannot write one."""

import asyncio

import pytest

from mooring.apiserver.auth.roles import JOIN_PATH
from tests.fakes.attacks import head
from tests.fakes.probe import measured
from tests.fakes.raw_http import RawHttp
from tests.fakes.real_server import RealServer

BODY = b'{"attempt":"aaaaaaaaaaaaaaaaaaaaaaaa","node":"n"}'
CALLERS = 20
EACH = 100


async def ask_often(server: RealServer, caller: int) -> set[int]:
    """With another token each time, of the form that a join token has."""
    codes = set()
    async with await RawHttp.connect(server, server.tls()) as client:
        for number in range(EACH):
            token = f"{caller:03}{number:03}.{'0' * 32}"
            asked = head("POST", JOIN_PATH, token, Content_Length=str(len(BODY)))
            await client.send(asked + BODY)
            codes.add((await client.answer()).code)
    return codes


@pytest.mark.timeout(60)
async def test_a_flood_of_join_requests_without_a_valid_token_costs_nobody_time(
    own_api_server: RealServer,
) -> None:
    before = (own_api_server.data_dir / "tokens.json").stat()
    with measured(own_api_server) as cost:
        codes = await asyncio.gather(*(ask_often(own_api_server, n) for n in range(CALLERS)))
    print(cost)  # noqa: T201  to compare with the next time
    assert set().union(*codes) == {401}
    assert cost.megabytes < 100, cost
    assert cost.worst < 0.1, cost
    after = (own_api_server.data_dir / "tokens.json").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    log = own_api_server.log.read_text()
    assert "Traceback" not in log
    assert log.count("\n") < 100, "a stranger does not fill the disk with the log"
