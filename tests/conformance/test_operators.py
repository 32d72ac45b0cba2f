"""Operators that others publish: controller-runtime's samples, run against Mooring unchanged.

kubebuilder's own samples cannot be had through the module proxy; these are what it generates from.
"""

import base64
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from mooring.testing import Cluster
from tests.conformance.obtain import (
    CONTROLLER_RUNTIME_BUILTINS,
    CONTROLLER_RUNTIME_CRD,
    Missing,
    Program,
)
from tests.conformance.peers import Find
from tests.fakes.webhook_server import certified

WEBHOOKS = ("127.0.0.1", 9443)  # the samples listen there, for they take no flags
CERTIFICATES = Path("k8s-webhook-server", "serving-certs")  # below TMPDIR
WITHIN = 60.0
TEMPLATE = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "main", "image": "example.com/box:1"}]},
}
CHAOS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "chaospods.chaosapps.metamagical.io"},
    "spec": {
        "group": "chaosapps.metamagical.io",
        "scope": "Namespaced",
        "names": {"plural": "chaospods", "kind": "ChaosPod"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "template": {
                                        "type": "object",
                                        "x-kubernetes-preserve-unknown-fields": True,
                                    },
                                    "nextStop": {
                                        "type": "string",
                                        "format": "date-time",
                                        "nullable": True,
                                    },
                                },
                            },
                            "status": {
                                "type": "object",
                                "properties": {
                                    "lastRun": {
                                        "type": "string",
                                        "format": "date-time",
                                        "nullable": True,
                                    }
                                },
                            },
                        },
                    }
                },
            }
        ],
    },
}


@contextmanager
def running(program: Program, find: Find, cluster: Cluster, folder: Path) -> Iterator[bytes]:
    """The sample at work; yields the authority of its webhooks. Ended, it says what it said."""
    try:
        binary = find(program)
    except Missing as reason:
        pytest.skip(f"no sample of controller-runtime: {reason}")
    place = folder / CERTIFICATES
    place.mkdir(parents=True)
    authority = certified(place)
    for kind in ("crt", "key"):
        (place / f"hook.{kind}").rename(place / f"tls.{kind}")
    told = folder / "sample.log"
    with told.open("w") as log:
        sample = subprocess.Popen(  # noqa: S603  a program that was built for it
            [binary],
            env=os.environ | {"KUBECONFIG": str(cluster.kubeconfig), "TMPDIR": str(folder)},
            stdout=log,
            stderr=log,
        )
        try:
            yield authority
        finally:
            sample.kill()
            sample.wait()
            sys.stdout.write(told.read_text(encoding="utf-8"))


def _webhook(kind: str, path: str, authority: bytes) -> dict[str, Any]:
    host, port = WEBHOOKS
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{kind}WebhookConfiguration",
        "metadata": {"name": "sample"},
        "webhooks": [
            {
                "name": "pods.kb.io",
                "clientConfig": {
                    "url": f"https://{host}:{port}/{path}--v1-pod",
                    "caBundle": base64.b64encode(authority).decode(),
                },
                "rules": [
                    {
                        "operations": ["CREATE", "UPDATE"],
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "resources": ["pods"],
                    }
                ],
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
            }
        ],
    }


def _listens() -> bool:
    with suppress(OSError), socket.create_connection(WEBHOOKS, timeout=1.0):
        return True
    return False


def test_an_operator_of_built_in_kinds_and_its_webhooks(find: Find, tmp_path: Path) -> None:
    """It labels replica sets, annotates their pods, and refuses pods without the annotation."""
    if _listens():
        pytest.skip("another program listens where the sample would")
    web = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE},
    }
    with Cluster() as c, c.namespace() as ns:
        c.add_node("n1")
        with running(CONTROLLER_RUNTIME_BUILTINS, find, c, tmp_path) as authority:
            c.apply(_webhook("Mutating", "mutate", authority))
            c.apply(_webhook("Validating", "validate", authority))
            ns.apply(web)
            ns.wait("rs/web", "status.readyReplicas=1", timeout=WITHIN)
            ns.wait("rs/web", lambda rs: rs["metadata"].get("labels") == {"hello": "world"})
            (pod,) = ns.list("pods", "app=web")
            assert pod["metadata"]["annotations"]["example-mutating-admission-webhook"] == "foo"


def test_an_operator_of_a_custom_kind(find: Find, tmp_path: Path) -> None:
    """Its pods come and go with a time that it writes into its objects, and with their owner."""
    chaos = {
        "apiVersion": "chaosapps.metamagical.io/v1",
        "kind": "ChaosPod",
        "metadata": {"name": "one"},
        "spec": {"template": TEMPLATE, "nextStop": "2020-01-01T00:00:00Z"},
    }
    with Cluster() as c, c.namespace() as ns:
        c.add_node("n1")
        c.apply(CHAOS)
        with running(CONTROLLER_RUNTIME_CRD, find, c, tmp_path):
            ns.apply(chaos)
            first = ns.wait("pod/one", "Running", timeout=WITHIN)
            uid = first["metadata"]["uid"]
            ns.wait("pod/one", lambda pod: pod["metadata"]["uid"] != uid, timeout=WITHIN)
            assert ns.get("chaospods/one")["status"]["lastRun"]
            ns.delete("chaospods/one", timeout=WITHIN)
            ns.wait("pod/one", "deleted", timeout=WITHIN)
