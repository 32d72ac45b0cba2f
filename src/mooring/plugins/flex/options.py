"""The JSON argument that describes a volume to a driver. Pure.

All of it is one argument of the program, secrets included: so it is in the FlexVolume protocol,
which has no other way. Values are data: nothing here or below is read by a shell.
"""

import base64
import json
from collections.abc import Mapping
from typing import Final

import msgspec

from mooring.model.pod import Pod
from mooring.model.secret_value import SecretValue
from mooring.model.volume_use import VolumeUse
from mooring.plugins.flex.source import is_read_only, source_of

FS_TYPE: Final = "kubernetes.io/fsType"
READ_WRITE: Final = "kubernetes.io/readwrite"
NAME: Final = "kubernetes.io/pvOrVolumeName"
SECRET: Final = "kubernetes.io/secret"  # noqa: S105  the name of a key
POD_NAME: Final = "kubernetes.io/pod.name"
POD_NAMESPACE: Final = "kubernetes.io/pod.namespace"
POD_UID: Final = "kubernetes.io/pod.uid"
ACCOUNT: Final = "kubernetes.io/serviceAccount.name"
FS_GROUP: Final = "kubernetes.io/mounterArgs.FsGroup"


class Options(msgspec.Struct, frozen=True):
    """The argument, and what must be shown of it nowhere."""

    text: SecretValue
    hidden: tuple[SecretValue, ...] = ()

    @property
    def secrets(self) -> tuple[str, ...]:
        """In each form in which a driver may show them: also without a last newline, or in JSON."""
        plain = [value.reveal().decode(errors="replace") for value in self.hidden]
        bare = [*plain, *(text.strip() for text in plain)]
        escaped = (
            json.dumps(text, ensure_ascii=way)[1:-1] for text in bare for way in (True, False)
        )
        return tuple(dict.fromkeys((*bare, *escaped)))

    @property
    def argument(self) -> str:
        return self.text.reveal().decode()


def volume_options(use: VolumeUse) -> Options:
    """For all calls but `mount`. Raises: VolumeError."""
    return _options(use, {})


def mount_options(
    use: VolumeUse,
    pod: Pod,
    secret: Mapping[str, SecretValue] | None = None,
    fs_group: int | None = None,
) -> Options:
    """With what only a mount is told: the pod, its group, its secret. Raises: VolumeError."""
    about = {
        POD_NAME: pod.metadata.name,
        POD_NAMESPACE: pod.namespace,
        POD_UID: pod.uid,
        ACCOUNT: pod.spec.service_account_name or "",
    }
    if fs_group is not None:
        about[FS_GROUP] = str(fs_group)
    return _options(use, about, secret or {})


def _options(
    use: VolumeUse, about: Mapping[str, str], secret: Mapping[str, SecretValue] | None = None
) -> Options:
    source = source_of(use)
    values = secret or {}
    encoded = {key: base64.b64encode(value.reveal()) for key, value in values.items()}
    document = {
        FS_TYPE: source.fs_type or "",
        READ_WRITE: "ro" if is_read_only(use) else "rw",
        NAME: use.name,
        **about,
        **{f"{SECRET}/{key}": value.decode() for key, value in encoded.items()},
        **(source.options or {}),  # last, as in Kubernetes; the API refuses keys like those above
    }
    text = SecretValue(json.dumps(document, sort_keys=True).encode())
    return Options(text, (*map(SecretValue, encoded.values()), *values.values()))
