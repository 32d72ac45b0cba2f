"""Images to be imported: archives made with Python's `tarfile`, layouts made by hand."""

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

Doc = dict[str, Any]

_TYPES = {
    "file": tarfile.REGTYPE,
    "directory": tarfile.DIRTYPE,
    "symlink": tarfile.SYMTYPE,
    "hardlink": tarfile.LNKTYPE,
    "fifo": tarfile.FIFOTYPE,
    "character": tarfile.CHRTYPE,
    "block": tarfile.BLKTYPE,
}


class Member(msgspec.Struct, frozen=True):
    """An entry, as anyone may write it; nothing is checked."""

    name: str
    type: str = "file"
    data: bytes = b""
    target: str = ""
    mode: int = 0o644
    uid: int = 0
    gid: int = 0
    mtime: int = 1_000_000_000
    pax: Mapping[str, str] = {}
    device: tuple[int, int] = (0, 0)


def a_file(name: str, data: str = "", **more: Any) -> Member:
    return Member(name, data=data.encode(), **more)


def a_directory(name: str, mode: int = 0o755, **more: Any) -> Member:
    return Member(name, "directory", mode=mode, **more)


def a_link(name: str, target: str) -> Member:
    return Member(name, "symlink", target=target, mode=0o777)


def a_tar(*members: Member, tar_format: int = tarfile.PAX_FORMAT) -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=tar_format) as archive:
        for member in members:
            info = tarfile.TarInfo(member.name)
            info.type = _TYPES[member.type]
            info.size = len(member.data)
            info.linkname = member.target
            info.mode, info.uid, info.gid = member.mode, member.uid, member.gid
            info.mtime = member.mtime
            info.pax_headers = dict(member.pax)
            info.devmajor, info.devminor = member.device
            archive.addfile(info, io.BytesIO(member.data))
    return written.getvalue()


def digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def a_configuration(layers: Sequence[bytes], **more: Any) -> bytes:
    document: Doc = {
        "architecture": "amd64",
        "os": "linux",
        "config": {"Cmd": ["/bin/sh"], "Env": ["PATH=/bin"], "Entrypoint": None},
        "rootfs": {"type": "layers", "diff_ids": [digest(layer) for layer in layers]},
    }
    return json.dumps(document | more).encode()


def docker_files(
    layers: Sequence[bytes], configuration: bytes = b"", tags: Sequence[str] = ()
) -> dict[str, bytes]:
    """What `docker save` of old writes, of one image."""
    configuration = configuration or a_configuration(layers)
    config_name = f"{digest(configuration)[7:]}.json"
    names = [f"{digest(layer)[7:]}/layer.tar" for layer in layers]
    saved = {"Config": config_name, "RepoTags": list(tags) or None, "Layers": names}
    return {
        config_name: configuration,
        **dict(zip(names, layers, strict=True)),
        "manifest.json": json.dumps([saved]).encode(),
    }


def oci_files(
    layers: Sequence[bytes],
    configuration: bytes = b"",
    *,
    stored: Sequence[bytes] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> dict[str, bytes]:
    """An OCI layout of one image; `stored` are its layers as they are kept, gzipped if not told."""
    configuration = configuration or a_configuration(layers)
    blobs = [gzip.compress(layer, 1, mtime=0) for layer in layers] if stored is None else stored
    manifest = json.dumps(
        {
            "schemaVersion": 2,
            "config": described(configuration),
            "layers": [described(blob) for blob in blobs],
        }
    ).encode()
    top = described(manifest) | ({"annotations": dict(annotations)} if annotations else {})
    return {
        "oci-layout": b'{"imageLayoutVersion":"1.0.0"}',
        "index.json": json.dumps({"schemaVersion": 2, "manifests": [top]}).encode(),
        **{blob_path(blob): blob for blob in (configuration, manifest, *blobs)},
    }


def manifest_digest(files: Mapping[str, bytes]) -> str:
    """Of the one image of an OCI layout."""
    found: str = json.loads(files["index.json"])["manifests"][0]["digest"]
    return found


def described(blob: bytes) -> Doc:
    return {"mediaType": "application/octet-stream", "digest": digest(blob), "size": len(blob)}


def blob_path(blob: bytes) -> str:
    return f"blobs/{digest(blob).replace(':', '/')}"


def as_tar(files: Mapping[str, bytes]) -> bytes:
    return a_tar(*(Member(name, data=data) for name, data in files.items()))


def as_directory(files: Mapping[str, bytes], directory: Path) -> Path:
    for name, data in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return directory
