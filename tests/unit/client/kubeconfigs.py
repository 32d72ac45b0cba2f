"""Kubeconfigs to read, and the surroundings to read them in."""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from mooring.client.credentials import Proof
from mooring.client.endpoint import Endpoint
from mooring.client.kubeconfig import Surroundings, find_endpoint
from tests.fakes.clock import VirtualClock

Doc = dict[str, Any]

SERVER = "https://example.com:6443"


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def a_kubeconfig(
    cluster: Mapping[str, Any] | None = None,
    user: Mapping[str, Any] | None = None,
    context: Mapping[str, Any] | None = None,
    name: str = "c",
) -> Doc:
    """One cluster, one user, one context, all of the same name, which is current."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": name, "cluster": {"server": SERVER} | dict(cluster or {})}],
        "users": [{"name": name, "user": dict(user or {})}],
        "contexts": [
            {"name": name, "context": {"cluster": name, "user": name} | dict(context or {})}
        ],
    }


def written(path: Path, doc: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(doc if isinstance(doc, str) else yaml.safe_dump(doc))
    return path


def around(directory: Path, **environment: str) -> Surroundings:
    """A process at home in `directory`, with a service account below it."""
    account = directory / "serviceaccount"
    return Surroundings({"HOME": str(directory), **environment}, VirtualClock(), account)


def endpoint_of(path: Path, doc: object) -> Endpoint:
    return find_endpoint(written(path, doc), around(path.parent))


def shown(proof: Proof) -> tuple[str, str, str]:
    """Token, certificate and key in the clear."""
    token = proof.token.reveal().decode() if proof.token else ""
    key = proof.key.reveal().decode() if proof.key else ""
    return token, proof.certificate.decode(), key
