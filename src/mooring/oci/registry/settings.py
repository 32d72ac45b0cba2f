"""How images are pulled and kept, as the administrator says it in a file (`--image-config`).

registries:
  docker.io:
    mirrors: [https://mirror.example.com]
  registry.example.com:5000:
    caFile: /etc/ssl/registry.pem
maxParallelImagePulls: 6
imageGCHighThresholdPercent: 85
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from mooring.errors import UsageError
from mooring.model import quantity
from mooring.oci.registry.loopback import may_be_asked

_GIB = 1 << 30
_AGE = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")


class RegistrySettings(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Of one registry, by the host of its images' names."""

    mirrors: tuple[str, ...] = ()  # URLs that are asked before the registry itself, in order
    ca_file: str = ""  # PEM of the authority that it is trusted by; empty: the machine's
    insecure_skip_tls_verify: bool = msgspec.field(
        default=False, name="insecureSkipTLSVerify"
    )  # its certificate is not verified


class GcSettings(msgspec.Struct, frozen=True):
    """When images that nobody uses are removed."""

    high_percent: int = 85  # of the disk used: above it, images go
    low_percent: int = 80  # until no more than this is used
    minimum_age: float = 120.0  # seconds since an image was last used
    most_bytes: int | None = None  # of all pulled images together


class PullSettings(msgspec.Struct, frozen=True):
    registries: Mapping[str, RegistrySettings] = {}
    pulls_at_once: int = 6  # of which one registry may have half
    layers_at_once: int = 3  # of one pull
    most_packed: int = 16 * _GIB  # bytes of an image's layers as they are sent
    most_unpacked: int = 32 * _GIB  # bytes of them decompressed
    answer_seconds: float = 30.0  # until a registry begins its answer
    stall_seconds: float = 30.0  # in which at least `least_progress` bytes have to come
    least_progress: int = 64 << 10

    def of(self, host: str) -> RegistrySettings:
        return self.registries.get(host, _PLAIN)


class ImageSettings(msgspec.Struct, frozen=True):
    pulls: PullSettings = PullSettings()
    gc: GcSettings = GcSettings()


_PLAIN = RegistrySettings()


class _File(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    registries: dict[str, RegistrySettings] = {}
    max_parallel_image_pulls: int = 6
    max_parallel_layers: int = 3
    max_image_size: str | int = "16Gi"
    max_unpacked_image_size: str | int = "32Gi"
    high: int = msgspec.field(default=85, name="imageGCHighThresholdPercent")
    low: int = msgspec.field(default=80, name="imageGCLowThresholdPercent")
    minimum_age: str = msgspec.field(default="2m", name="imageMinimumGCAge")
    max_images_size: str | int | None = None


def read(path: Path) -> ImageSettings:
    """Raises: UsageError."""
    import yaml

    try:
        found = yaml.safe_load(path.read_text())
    except OSError as error:
        raise UsageError(f"cannot read --image-config {path}: {error.strerror}") from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        why = " ".join(str(error).split())
        raise UsageError(f"--image-config {path} cannot be understood: {why}") from error
    try:
        return understood(found or {})
    except UsageError as error:
        raise UsageError(f"--image-config {path}: {error}") from error


def understood(document: Any) -> ImageSettings:
    """Raises: UsageError, naming the key."""
    try:
        file = msgspec.convert(document, _File)
    except msgspec.ValidationError as error:
        raise UsageError(str(error)) from error
    for host, one in file.registries.items():
        _check_registry(host, one)
    _check_numbers(file)
    pulls = PullSettings(
        registries=file.registries,
        pulls_at_once=file.max_parallel_image_pulls,
        layers_at_once=file.max_parallel_layers,
        most_packed=_bytes("maxImageSize", file.max_image_size),
        most_unpacked=_bytes("maxUnpackedImageSize", file.max_unpacked_image_size),
    )
    most = file.max_images_size
    most_bytes = None if most is None else _bytes("maxImagesSize", most)
    gc = GcSettings(file.high, file.low, _seconds(file.minimum_age), most_bytes)
    return ImageSettings(pulls, gc)


def _check_registry(host: str, one: RegistrySettings) -> None:
    if "/" in host or not host:
        raise UsageError(f"registries has {host!r}, which must be a host, as in names of images")
    if one.ca_file and one.insecure_skip_tls_verify:
        raise UsageError(
            f"registries.{host} has caFile, which insecureSkipTLSVerify makes useless: drop one"
        )
    for mirror in one.mirrors:
        url = urlsplit(mirror)
        if url.scheme not in ("http", "https") or not url.hostname or url.username:
            raise UsageError(
                f"registries.{host}.mirrors must be URLs as https://mirror.example.com, "
                "without credentials"
            )
        if not may_be_asked(url):
            raise UsageError(
                f"registries.{host}.mirrors has {mirror}: plain HTTP is for registries on loopback "
                "only, use https"
            )


def _check_numbers(file: _File) -> None:
    if not 1 <= file.max_parallel_image_pulls <= 64:
        raise UsageError("maxParallelImagePulls must be from 1 to 64")
    if not 1 <= file.max_parallel_layers <= 16:
        raise UsageError("maxParallelLayers must be from 1 to 16")
    if not 0 <= file.low < file.high <= 100:
        raise UsageError(
            "imageGCLowThresholdPercent must be below imageGCHighThresholdPercent, "
            "and both from 0 to 100"
        )


def _bytes(key: str, text: str | int) -> int:
    try:
        count = quantity.parse(text).bytes_ceil()
    except ValueError as error:
        raise UsageError(f"{key} must be a quantity, as 20Gi") from error
    if count <= 0:
        raise UsageError(f"{key} must be more than nothing")
    return count


def _seconds(text: str) -> float:
    found = _AGE.fullmatch(text)
    if found is None or not text:
        raise UsageError("imageMinimumGCAge must be a duration, as 2m or 1h30m")
    hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return hours * 3600.0 + minutes * 60 + seconds
