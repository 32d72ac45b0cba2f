"""An OCI archive with one image for each architecture, written without a container engine."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from release.archive import Entry, compressed, directory, tar
from release.root import PYTHON, USER, Root, digest

NAME = "mooring"
_OCI = "application/vnd.oci.image"
_ENVIRONMENT = (
    "PATH=/usr/local/bin:/usr/bin",
    "LANG=C.UTF-8",
    "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt",
    "PYTHONPYCACHEPREFIX=/tmp/pycache",  # the root may be read-only; compiled once per pod
)


class Image(msgspec.Struct, frozen=True):
    root: Root
    version: str
    epoch: int

    def blobs(self) -> tuple[dict[str, Any], dict[str, bytes]]:
        """The descriptor of its manifest, and all it consists of by digest."""
        blobs: dict[str, bytes] = {}
        layers, plain = [], []
        for entries in self.root.layers:
            content = tar(entries, self.epoch)
            plain.append(digest(content))
            layers.append(_add(blobs, f"{_OCI}.layer.v1.tar+gzip", compressed(content)))
        config = _add(blobs, f"{_OCI}.config.v1+json", _encoded(self._config(plain)))
        manifest = {
            "schemaVersion": 2,
            "mediaType": f"{_OCI}.manifest.v1+json",
            "config": config,
            "layers": layers,
        }
        found = _add(blobs, f"{_OCI}.manifest.v1+json", _encoded(manifest))
        return {**found, "platform": self._platform()}, blobs

    def _platform(self) -> dict[str, str]:
        return {"architecture": self.root.architecture.name, "os": "linux"}

    def _config(self, diff_ids: list[str]) -> dict[str, Any]:
        created = _time(self.epoch)
        return {
            **self._platform(),
            "created": created,
            "config": {
                "User": f"{USER}:{USER}",
                "Env": list(_ENVIRONMENT),
                "Entrypoint": ["mooring"],
                "Cmd": ["--help"],
                "WorkingDir": "/",
                "Labels": {
                    "org.opencontainers.image.title": NAME,
                    "org.opencontainers.image.version": self.version,
                    "org.opencontainers.image.licenses": "Apache-2.0",
                },
            },
            "rootfs": {"type": "layers", "diff_ids": diff_ids},
            "history": [
                {"created": created, "created_by": what}
                for what in ("Debian packages", f"wheels for Python {PYTHON}", "mooring")
            ],
        }


def write_archive(images: Sequence[Image], file: Path, version: str, epoch: int) -> None:
    """An OCI layout in a tar file, which `skopeo`, `ctr`, `podman` and `mooring` read."""
    blobs: dict[str, bytes] = {}
    manifests = []
    for image in images:
        found, parts = image.blobs()
        manifests.append(found)
        blobs |= parts
    index = {
        "schemaVersion": 2,
        "mediaType": f"{_OCI}.index.v1+json",
        "manifests": manifests,
    }
    top = _add(blobs, f"{_OCI}.index.v1+json", _encoded(index))
    top["annotations"] = {
        "org.opencontainers.image.ref.name": version,
        "io.containerd.image.name": f"docker.io/library/{NAME}:{version}",
    }
    entries = [
        directory("blobs"),
        directory("blobs/sha256"),
        Entry("oci-layout", b'{"imageLayoutVersion":"1.0.0"}'),
        Entry("index.json", _encoded({"schemaVersion": 2, "manifests": [top]})),
        *(Entry(f"blobs/{name.replace(':', '/')}", content) for name, content in blobs.items()),
    ]
    file.write_bytes(tar(entries, epoch))


def _add(blobs: dict[str, bytes], kind: str, content: bytes) -> dict[str, Any]:
    """Its descriptor."""
    name = digest(content)
    blobs[name] = content
    return {"mediaType": kind, "digest": name, "size": len(content)}


def _encoded(document: Any) -> bytes:
    return msgspec.json.encode(document, order="sorted")


def _time(epoch: int) -> str:
    return datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
