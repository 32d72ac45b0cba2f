"""Writes that meet costly policies: how long the requests of others wait beside them."""

import asyncio
import json
import time
from collections.abc import Iterator

import uvloop

from bench.client import open_pool, request, send_all
from bench.server import Server, server

Row = tuple[str, str, str]

WRITERS = 4
VALIDATIONS = 8
KEYS = 250  # of an object; each is compared with each, for most of what one expression may cost
SECONDS = 8.0
BETWEEN_READS = 0.003
_GROUP = "/apis/admissionregistration.k8s.io/v1"
_CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
_COSTLY = (
    "object.data.all(k, object.data.all(l, object.data[k].size() + object.data[l].size() > 0))"
)


def _policy() -> bytes:
    rule = {
        "operations": ["CREATE"],
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "resources": ["configmaps"],
    }
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": _COSTLY} for _ in range(VALIDATIONS)],
    }
    return json.dumps({"metadata": {"name": "costly"}, "spec": spec}).encode()


def _binding() -> bytes:
    spec = {"policyName": "costly", "validationActions": ["Deny"]}
    return json.dumps({"metadata": {"name": "costly"}, "spec": spec}).encode()


def _config_map(name: str) -> bytes:
    data = {f"key-{number}": "value" for number in range(KEYS)}
    return json.dumps({"metadata": {"name": name}, "data": data}).encode()


def _writes(target: Server, until: float, written: list[str]) -> Iterator[bytes]:
    while time.perf_counter() < until:
        written.append(f"c-{len(written)}")
        yield request(target, "POST", _CONFIG_MAPS, _config_map(written[-1]))


async def _reads(target: Server, until: float) -> list[float]:
    """The seconds that each took."""
    took: list[float] = []
    asked = request(target, "GET", "/api/v1/namespaces/default")
    async with open_pool(target, 1) as pool:
        while time.perf_counter() < until:
            began = time.perf_counter()
            await pool.send(asked)
            took.append(time.perf_counter() - began)
            await asyncio.sleep(BETWEEN_READS)
    return took


async def _measure() -> list[Row]:
    async with server("apiserver") as running:
        made = (
            ("validatingadmissionpolicies", _policy()),
            ("validatingadmissionpolicybindings", _binding()),
        )
        asked = [request(running, "POST", f"{_GROUP}/{plural}", body) for plural, body in made]
        await send_all(running, iter(asked), 1)
        alone = await _reads(running, time.perf_counter() + 1.0)
        until = time.perf_counter() + SECONDS
        written: list[str] = []
        took, _ = await asyncio.gather(
            _reads(running, until), send_all(running, _writes(running, until, written), WRITERS)
        )
    what = f"a GET beside {WRITERS} writers against {VALIDATIONS} costly validations"
    return [
        (f"{what}: p99", f"{_at(took, 0.99):.0f} ms", f"{len(written)} writes in {SECONDS:.0f} s"),
        (f"{what}: slowest of {len(took)}", f"{_at(took, 1):.0f} ms", "target 100 ms"),
        ("the same without them: p99", f"{_at(alone, 0.99):.1f} ms", ""),
    ]


def _at(took: list[float], share: float) -> float:
    """Milliseconds."""
    ordered = sorted(took)
    return 1000 * ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def run() -> list[Row]:
    return uvloop.run(_measure())
