"""A pod runs as a service account, and finds that account's token in a projected volume."""

import hashlib
from typing import Any

from mooring.apiserver.admission.contract import AdmissionAttributes, Objects
from mooring.apiserver.request.refusals import forbidden
from mooring.model.document import Doc

MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
TOKEN_SECONDS = 3607  # upstream's mark: asks for an hour, tells the kubelet that it is extendable
DEFAULT = "default"
VOLUME_PREFIX = "kube-api-access-"
MIRROR = "kubernetes.io/config.mirror"
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


def give(attributes: AdmissionAttributes, objects: Objects) -> None:
    pod = attributes.new
    if pod is None:
        return
    spec = pod["spec"]
    if MIRROR in pod["metadata"].get("annotations", {}):
        if spec.get("serviceAccountName"):
            why = "a mirror pod may not reference service accounts"
            raise forbidden(attributes.kind, attributes.name, why)
        return
    name = spec.get("serviceAccountName") or spec.get("serviceAccount") or DEFAULT
    spec["serviceAccountName"] = spec["serviceAccount"] = name
    account = objects.find("serviceaccounts", attributes.namespace, name)
    if account is None and name == DEFAULT:
        account = {}  # the server gives one to every namespace: it is about to appear
    if account is None:
        raise forbidden(
            attributes.kind,
            attributes.name,
            f"error looking up service account {attributes.namespace}/{name}: "
            f'serviceaccount "{name}" not found',
        )
    if _wants_token(spec, account):
        _mount_token(spec, f"{VOLUME_PREFIX}{_suffix(pod['metadata']['uid'])}")
    if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
        spec["imagePullSecrets"] = account["imagePullSecrets"]


def _wants_token(spec: Doc, account: Doc) -> bool:
    own = spec.get("automountServiceAccountToken")
    return bool(own if own is not None else account.get("automountServiceAccountToken", True))


def _mount_token(spec: Doc, volume: str) -> None:
    users = [
        container
        for container in (*spec.get("initContainers", ()), *spec.get("containers", ()))
        if all(mount.get("mountPath") != MOUNT_PATH for mount in container.get("volumeMounts", ()))
    ]
    for container in users:
        mount = {"name": volume, "readOnly": True, "mountPath": MOUNT_PATH}
        container["volumeMounts"] = [*container.get("volumeMounts", ()), mount]
    if users:
        spec["volumes"] = [*spec.get("volumes", ()), _token_volume(volume)]


def _token_volume(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "projected": {
            "sources": [
                {"serviceAccountToken": {"expirationSeconds": TOKEN_SECONDS, "path": "token"}},
                {
                    "configMap": {
                        "name": "kube-root-ca.crt",
                        "items": [{"key": "ca.crt", "path": "ca.crt"}],
                    }
                },
                {
                    "downwardAPI": {
                        "items": [
                            {
                                "path": "namespace",
                                "fieldRef": {
                                    "apiVersion": "v1",
                                    "fieldPath": "metadata.namespace",
                                },
                            }
                        ]
                    }
                },
            ],
            "defaultMode": 0o644,
        },
    }


def _suffix(uid: str) -> str:
    """Five letters that differ from pod to pod; drawn from the uid: nothing is random here."""
    digest = hashlib.sha256(uid.encode()).digest()
    return "".join(_LETTERS[byte % len(_LETTERS)] for byte in digest[:5])
