"""An operator written with kopf: every Boat gets a claim, and says which.

    kopf run --standalone boats.py

`test_kopf.py` tests it.
"""

import os
from typing import Any

import kopf
from kubernetes import client, config


@kopf.on.login()
def login(**kwargs: Any) -> kopf.ConnectionInfo | None:
    return kopf.login_with_kubeconfig(**kwargs)


@kopf.on.create("harbour.example.com", "v1", "boats")
def make_claim(spec: kopf.Spec, name: str, namespace: str, patch: kopf.Patch, **_: Any) -> None:
    claim = {
        "metadata": {"name": f"{name}-hold"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": spec["hold"]}},
        },
    }
    kopf.adopt(claim)
    # Said each time: the client itself looks at the variable only when it is imported.
    with config.new_client_from_config(os.environ.get("KUBECONFIG")) as api:
        client.CoreV1Api(api).create_namespaced_persistent_volume_claim(namespace, claim)
    patch.status["claim"] = claim["metadata"]["name"]
