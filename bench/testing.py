"""Clusters in tests: how soon they answer, what twenty of them take, what a namespace costs.

The first cluster of a process is measured in fresh interpreters, its imports included. Beside it is
how envtest does it: etcd without syncing, then kube-apiserver, until it answers; it has neither
controllers nor, therefore, a default service account.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.process import Process
from mooring.testing import Cluster
from mooring.testing.cluster import Process as Where
from tests.conformance import peers
from tests.conformance.obtain import Missing, find

Row = tuple[str, str, str]

ROUNDS = 5
CLUSTERS = 20
NAMESPACES = 100
THREAD_TARGET, CHILD_TARGET = "target 0.3 s", "target 0.8 s"
MEMORY_TARGET, NAMESPACE_TARGET = "target 60 MB", "target 20 ms"
CLAIM = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
FRESH = """
import json, sys, time
began, used = time.perf_counter(), time.process_time()
from mooring.testing import Cluster
with Cluster(process=sys.argv[1]) as c:
    c.get("namespace/default")
    ready, cpu = time.perf_counter() - began, time.process_time() - used
    c.apply(json.loads(sys.argv[2]))
    c.wait("pvc/data", "Bound", timeout=60)
    print(json.dumps([ready, cpu, time.perf_counter() - began]))
"""


def run() -> list[Row]:
    return [*_first(), *_later(), *_namespaces(), *_many(), *_envtest()]


def _first() -> list[Row]:
    rows: list[Row] = []
    for where, target in (("thread", THREAD_TARGET), ("child", CHILD_TARGET)):
        rounds = [_fresh(where) for _ in range(ROUNDS)]
        ready, cpu, bound = (statistics.median(column) for column in zip(*rounds, strict=True))
        note = f"{target}; median of {ROUNDS}, imports included; CPU of this process {cpu:.2f} s"
        rows.append((f"first of a process ({where}): answers", f"{ready:.2f} s", note))
        rows.append(("  its first claim is Bound", f"{bound:.2f} s", ""))
    return rows


def _fresh(where: str) -> list[float]:
    asked = [sys.executable, "-c", FRESH, where, json.dumps(CLAIM)]
    done = subprocess.run(asked, capture_output=True, text=True, check=True)  # noqa: S603  our own
    return [float(each) for each in json.loads(done.stdout)]


def _later() -> list[Row]:
    rows: list[Row] = []
    places: list[tuple[Where, str]] = [("thread", THREAD_TARGET), ("child", CHILD_TARGET)]
    for where, target in places:
        ready, ended = [], []
        for _ in range(ROUNDS + 1):
            cluster = Cluster(process=where)
            ready.append(_seconds(cluster.start))
            ended.append(_seconds(cluster.stop))
        note = f"{target}; median of {ROUNDS}"
        rows.append((f"each later one ({where}): answers", _told(ready[1:]), note))
        rows.append(("  stopped, nothing left", _told(ended[1:]), ""))
    return rows


def _namespaces() -> list[Row]:
    with Cluster() as cluster:
        cluster.apply(CLAIM)
        cluster.wait("pvc/data", "Bound", timeout=60)
        made = [_seconds(lambda: _namespace(cluster)) for _ in range(NAMESPACES)]
    told = f"{statistics.median(made) * 1000:.1f} ms"
    note = f"{NAMESPACE_TARGET}; the slowest of {NAMESPACES} took {max(made) * 1000:.0f} ms"
    return [("a namespace for a test, made and deleted", told, note)]


def _namespace(cluster: Cluster) -> None:
    with cluster.namespace():
        pass


def _many() -> list[Row]:
    """Each has bound a claim, so that all its controllers are at work."""
    own = Process(os.getpid())
    clusters: list[Cluster] = []
    began = time.perf_counter()
    first = 0
    for _ in range(CLUSTERS):
        clusters.append(Cluster().start())
        clusters[-1].apply(CLAIM)
        clusters[-1].wait("pvc/data", "Bound", timeout=60)
        first = first or own.resident_bytes()
    each = (own.resident_bytes() - first) / (CLUSTERS - 1)
    seconds = time.perf_counter() - began
    for cluster in clusters:
        cluster.stop()
    note = f"{MEMORY_TARGET}; {CLUSTERS} of them, each with a claim Bound, after {seconds:.1f} s"
    return [("memory of each cluster beyond the first", f"{each / 1e6:.1f} MB", note)]


def _envtest() -> list[Row]:
    what = "kube-apiserver and etcd, as envtest starts them: answer"
    try:
        started = [_start_kubernetes() for _ in range(ROUNDS)]
    except Missing as reason:
        return [(what, "-", f"not here: {reason}")]
    return [(what, _told(started), f"median of {ROUNDS}; no controllers, so no claim binds")]


def _start_kubernetes() -> float:
    with TemporaryDirectory(prefix="envtest-bench-") as folder:
        began = time.perf_counter()
        with peers.kubernetes(Path(folder), find, etcd_flags=peers.FORGETFUL):
            return time.perf_counter() - began


def _seconds(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def _told(seconds: list[float]) -> str:
    return f"{statistics.median(seconds):.2f} s"
