"""Pods, containers and views of them, built from little."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from mooring.model.container import Container
from mooring.model.meta import ObjectMeta
from mooring.model.pod import Pod, PodSpec
from mooring.node.pods.view import View
from mooring.oci.contract import Found, ImageConfig, Owner, State, StoredImage

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
MAIN = Container("main")
OTHER = Container("other")
FIRST = Container("first")
SECOND = Container("second")
PROXY = Container("proxy", restart_policy="Always")


def a_pod(*containers: Container, **spec: Any) -> Pod:
    return Pod(
        metadata=ObjectMeta(name="web", namespace="ns", uid="p1", generation=1),
        spec=PodSpec(containers=containers or (MAIN,), **spec),
    )


def deleting(pod: Pod, grace: int | None = None) -> Pod:
    metadata = msgspec.structs.replace(
        pod.metadata,
        deletion_timestamp="2026-01-02T03:04:35Z",
        deletion_grace_period_seconds=grace,
    )
    return msgspec.structs.replace(pod, metadata=metadata)


def a_found(
    name: str, state: State = State.RUNNING, attempt: int = 0, code: int = 0, **more: Any
) -> Found:
    return Found(
        id=f"{name}-{attempt}",
        owner=Owner("ns", "web", "p1", name, attempt),
        state=state,
        created_at=NOW,
        log_path=Path(f"/logs/{name}/{attempt}.log"),
        image_id="sha256:1",
        notes=more.pop("notes", {}),
        started_at=None if state is State.CREATED else NOW,
        finished_at=NOW if state is State.EXITED else None,
        exit_code=code,
        **more,
    )


def ended(name: str, code: int = 0, attempt: int = 0, **more: Any) -> Found:
    return a_found(name, State.EXITED, attempt, code, **more)


def a_view(pod: Pod, *found: Found, **more: Any) -> View:
    """At the moment 1000; what has ended did so just now."""
    groups: dict[str, list[Found]] = {}
    for one in sorted(found, key=lambda one: -one.owner.attempt):
        groups.setdefault(one.owner.container, []).append(one)
    times = {one.id: 1000.0 for one in found if one.state is State.EXITED}
    by_name = {name: tuple(group) for name, group in groups.items()}
    fields: dict[str, Any] = {"now": 1000.0, "found": by_name, "ended": times} | more
    return View(pod, **fields)


def an_image(**config: Any) -> StoredImage:
    return StoredImage("sha256:1", ("img",), (Path("/layer"),), ImageConfig(**config), 1)
