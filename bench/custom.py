"""Custom resources: creates beside those of a built-in kind, and a start with many definitions."""

import asyncio
import json
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvloop

from bench.client import request, send_all
from bench.server import Server, served, server

Row = tuple[str, str, str]

CONNECTIONS = 64
TURNS = 5
TURN_CREATES = 2_000
DEFINITIONS = 200
FIELDS = 300  # of a schema: about 30 KB
_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_WIDGETS = "/apis/bench.example.com/v1/namespaces/default/widgets"
_CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


def _definition(plural: str, kind: str, fields: int = 0) -> bytes:
    text = {"type": "string", "description": "A field, as a generator writes them into schemas."}
    spec: dict[str, Any] = {
        "type": "object",
        "required": ["size"],
        "properties": {
            "size": {"type": "integer", "minimum": 1},
            "color": {"type": "string", "default": "red"},
            "words": {"type": "array", "items": {"type": "string"}},
            **{f"field{number}": text for number in range(fields)},
        },
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
    }
    return json.dumps(
        {
            "metadata": {"name": f"{plural}.bench.example.com"},
            "spec": {
                "group": "bench.example.com",
                "scope": "Namespaced",
                "names": {"plural": plural, "kind": kind},
                "versions": [version],
            },
        }
    ).encode()


def _widget(number: int) -> bytes:
    return (
        b'{"apiVersion":"bench.example.com/v1","kind":"Widget","metadata":{"name":"w-%d"},'
        b'"spec":{"size":3,"color":"red","words":["a","b"]}}'
    ) % number


def _config_map(number: int) -> bytes:
    return (
        b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c-%d"},'
        b'"data":{"size":"3","color":"red","words":"a,b"}}'
    ) % number


async def _rate(target: Server, path: str, made: Callable[[int], bytes], first: int) -> float:
    bodies = [made(number) for number in range(first, first + TURN_CREATES)]
    requests = iter([request(target, "POST", path, body) for body in bodies])
    return TURN_CREATES / await send_all(target, requests, CONNECTIONS)


async def _creates() -> Row:
    """In turns, since the machine is not the same from second to second."""
    async with server("apiserver") as target:
        define = request(target, "POST", _PATH, _definition("widgets", "Widget"))
        await send_all(target, iter([define]), 1)
        await _served(target, "widgets")
        ratios, rates = [], []
        for turn in range(TURNS):
            first = turn * TURN_CREATES
            plain = await _rate(target, _CONFIG_MAPS, _config_map, first)
            custom = await _rate(target, _WIDGETS, _widget, first)
            ratios.append(plain / custom)
            rates.append(custom)
    return (
        "time of a create, to that of a ConfigMap",
        f"{statistics.median(ratios):.2f}x",
        f"target 1.5x; {statistics.median(rates):,.0f}/s",
    )


async def _served(target: Server, plural: str) -> None:
    asked = request(target, "GET", f"/apis/bench.example.com/v1/{plural}")
    async with asyncio.timeout(30):
        while True:
            try:
                await send_all(target, iter([asked]), 1)
            except (AssertionError, RuntimeError):
                await asyncio.sleep(0.05)
            else:
                return


async def _start() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="mooring-bench-") as directory:
        place = Path(directory)
        async with served(place, "apiserver"):
            pass
        async with served(place, "apiserver") as target:
            empty, empty_bytes = target.cpu_seconds(), target.resident_bytes()
            made = (_definition(f"k{n}s", f"K{n}", FIELDS) for n in range(DEFINITIONS))
            await send_all(target, (request(target, "POST", _PATH, body) for body in made), 8)
            await _served(target, f"k{DEFINITIONS - 1}s")
        async with served(place, "apiserver") as target:
            seconds = target.cpu_seconds() - empty
            more = target.resident_bytes() - empty_bytes
    return [
        (f"start with {DEFINITIONS} definitions, more CPU", f"{seconds:.2f} s", "target 1 s"),
        ("resident, more", f"{more / 1e6:.0f} MB", "target 60 MB"),
    ]


async def _measure() -> list[Row]:
    return [await _creates(), *await _start()]


def run() -> list[Row]:
    return uvloop.run(_measure())
