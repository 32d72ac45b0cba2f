"""What the in-tree provisioners of storage elsewhere share: claims they take, classes, secrets."""

from collections.abc import Mapping, Sequence

from mooring.client.contract import Client
from mooring.errors import ApiError, ConnectionLost
from mooring.model.claim import Claim
from mooring.model.document import Doc
from mooring.model.keys import Key
from mooring.model.secret import Secret
from mooring.model.storage_class import StorageClass
from mooring.model.storage_terms import STORAGE, AccessMode
from mooring.model.volume import Volume
from mooring.model.wellknown import Annotation
from mooring.plugins.contract import PluginError

MIB, GIB = 2**20, 2**30
NAME_PREFIX = "kubernetes-dynamic-pvc-"
SEE_LOG = "see the log of the controllers for details"  # a server's own words are in no event


def volume_name(claim: Claim) -> str:
    """Of the storage: the same for the same claim, so that what was begun is found again."""
    return f"{NAME_PREFIX}{claim.uid}"


def rounded_up(size: int, unit: int) -> int:
    return -(-size // unit)


def check_claim(claim: Claim, modes: Sequence[AccessMode]) -> None:
    """Raises: PluginError."""
    if not set(claim.spec.access_modes) <= set(modes):
        asked, known = _listed(claim.spec.access_modes), _listed(modes)
        raise PluginError(f"invalid AccessModes {asked}: only AccessModes {known} are supported")
    if claim.spec.selector is not None:
        raise PluginError("claim Selector is not supported")


def check_uid(claim: Claim) -> None:
    """Raises: PluginError for a uid that is not fit to be part of a name."""
    if not claim.uid or not claim.uid.replace("-", "").isalnum() or not claim.uid.isascii():
        raise PluginError(f"no volume can be named after the uid {claim.uid!r}")


def unknown_option(key: str, plugin: str) -> PluginError:
    return PluginError(f'invalid option "{key}" for volume plugin {plugin}')


def made_volume(
    claim: Claim, modes: Sequence[AccessMode], capacity: str, source: Doc, made_by: str
) -> Doc:
    """The PersistentVolume, as far as a provisioner knows it."""
    wanted = claim.spec.access_modes or tuple(modes)
    return {
        "metadata": {"annotations": {Annotation.CREATED_BY: made_by}},
        "spec": {
            "capacity": {STORAGE: capacity},
            "accessModes": [mode.value for mode in wanted],
            "volumeMode": claim.spec.volume_mode.value,
            **source,
        },
    }


async def find_class(client: Client, volume: Volume) -> StorageClass:
    """The class that the volume was made by: it says who may change its storage.

    Raises: PluginError.
    """
    if not volume.storage_class:
        raise PluginError("Volume has no storage class")
    try:
        return await client.get(StorageClass, Key("", volume.storage_class))
    except (ApiError, ConnectionLost) as error:
        raise PluginError(str(error)) from error


async def read_secret(client: Client, key: Key, plugin: str) -> Mapping[str, str]:
    """A secret for this plugin alone: others are not given away, whatever a class names.

    Raises: PluginError.
    """
    try:
        secret = await client.get(Secret, key)
    except (ApiError, ConnectionLost) as error:
        raise PluginError(str(error)) from error
    if secret.type != plugin:
        raise PluginError(f"cannot get secret of type {plugin}")
    return {name: value.reveal().decode(errors="replace") for name, value in secret.data.items()}


def _listed(modes: Sequence[AccessMode]) -> str:
    return f"[{' '.join(modes)}]"
