"""What the pod that wipes a volume looks like: upstream's, or one from a file.

Of a template only three things are replaced: the pod's name, its deadline, and what its first
volume is made of. The rest is the administrator's.
"""

from copy import deepcopy
from pathlib import Path
from typing import Final

import yaml

from mooring.errors import UsageError
from mooring.model.document import Doc
from mooring.model.volume import Volume

NAMESPACE = "default"
IMAGE = "registry.k8s.io/build-image/debian-base:bookworm-v1.0.6"
# For nodes with `--host-rootfs`: without a registry in its name nothing is pulled there.
HOST_ROOT_IMAGE = "debian:bookworm-slim"
# Upstream's, but it does not empty what is mounted inside the volume, which a pod sees too.
_KEEP_MOUNTS = "if grep ' /scrub/' /proc/self/mountinfo; then echo 'mounted inside'; exit 1; fi; "
_EMPTY = 'find /scrub -xdev -mindepth 1 -delete && test -z "$(ls -A /scrub)"'
SCRUB = f"{_KEEP_MOUNTS}test -e /scrub && {_EMPTY} || exit 1"


def _template(image: str) -> Doc:
    container = {
        "name": "pv-recycler",
        "image": image,
        "command": ["/bin/sh"],
        "args": ["-c", SCRUB],
        "volumeMounts": [{"name": "vol", "mountPath": "/scrub"}],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"namespace": NAMESPACE},
        "spec": {
            "restartPolicy": "Never",
            "volumes": [{"name": "vol"}],
            "containers": [container],
        },
    }


DEFAULT_TEMPLATE: Final[Doc] = _template(IMAGE)
HOST_ROOT_TEMPLATE: Final[Doc] = _template(HOST_ROOT_IMAGE)


def load_template(path: Path) -> Doc:
    """The pod in this file, YAML or JSON. Raises: UsageError."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"failed to read file path {path}: {error}") from error
    if not text:
        raise UsageError(f"file was empty: {path}")
    try:
        pod = yaml.safe_load(text)
    except yaml.YAMLError as error:
        why = " ".join(str(error).split())
        raise UsageError(f"failed decoding file {path}: {why}") from error
    if not isinstance(pod, dict) or (pod.get("apiVersion"), pod.get("kind")) != ("v1", "Pod"):
        raise UsageError(f"failed decoding file {path}: it is no Pod of apiVersion v1")
    if not _has_volumes(pod):
        raise UsageError(f"pod specification ({path}): does not contain any volume(s)")
    return pod


def recycler_pod(template: Doc, volume: Volume, seconds: int) -> Doc:
    """The pod for this volume, which may take so long."""
    pod = deepcopy(template)
    metadata = {"namespace": NAMESPACE, **(pod.get("metadata") or {})}
    metadata.pop("generateName", None)
    pod["metadata"] = metadata | {"name": f"recycler-for-{volume.name}"}
    spec = pod["spec"]
    spec["activeDeadlineSeconds"] = seconds
    spec["volumes"][0] = {"name": spec["volumes"][0]["name"], **_source(volume)}
    return pod


def _has_volumes(pod: Doc) -> bool:
    spec = pod.get("spec")
    volumes = spec.get("volumes") if isinstance(spec, dict) else None
    if not isinstance(volumes, list) or not volumes:
        return False
    return isinstance(volumes[0], dict) and "name" in volumes[0]


def _source(volume: Volume) -> Doc:
    """Without what would keep the pod from writing there."""
    if volume.spec.nfs is not None:
        return {"nfs": {"server": volume.spec.nfs.server, "path": volume.spec.nfs.path}}
    if volume.spec.host_path is not None:
        return {"hostPath": {"path": volume.spec.host_path.path}}
    return {}
