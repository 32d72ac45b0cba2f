"""An image as a directory, which `mooring image import` takes, from the layers it is made of."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar"
_PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def write_layout(
    directory: Path,
    layers: Sequence[bytes],
    entrypoint: Sequence[str] = (),
    command: Sequence[str] = (),
) -> Path:
    """`layers` are tar archives, the lowest first."""
    blobs = directory / "blobs" / "sha256"
    blobs.mkdir(parents=True)
    config = {
        "architecture": "amd64",
        "os": "linux",
        "config": {"Entrypoint": list(entrypoint), "Cmd": list(command), "Env": [_PATH]},
        "rootfs": {"type": "layers", "diff_ids": [_digest(layer) for layer in layers]},
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": _MANIFEST,
        "config": _put(blobs, _CONFIG, json.dumps(config).encode()),
        "layers": [_put(blobs, _LAYER, layer) for layer in layers],
    }
    index = {
        "schemaVersion": 2,
        "manifests": [_put(blobs, _MANIFEST, json.dumps(manifest).encode())],
    }
    (directory / "index.json").write_text(json.dumps(index))
    (directory / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    return directory


def _put(blobs: Path, media_type: str, content: bytes) -> dict[str, object]:
    digest = _digest(content)
    (blobs / digest.removeprefix("sha256:")).write_bytes(content)
    return {"mediaType": media_type, "digest": digest, "size": len(content)}


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
