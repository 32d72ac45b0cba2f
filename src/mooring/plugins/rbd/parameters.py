"""What a StorageClass of `kubernetes.io/rbd` says. Pure."""

from collections.abc import Mapping

import msgspec

from mooring.model.keys import Key
from mooring.model.reference import SecretReference
from mooring.plugins import ceph_values
from mooring.plugins.contract import PluginError, VolumeError
from mooring.plugins.provisioning import unknown_option
from mooring.plugins.rbd.image import NAME, check_names

ADMIN, POOL, ADMIN_NAMESPACE = "admin", "rbd", "default"
FORMATS = ("1", "2")
FEATURES = ("layering",)


class Administrator(msgspec.Struct, frozen=True):
    """Who may make, grow and remove images."""

    user: str
    secret: Key


class RbdParameters(msgspec.Struct, frozen=True, kw_only=True):
    administrator: Administrator
    monitors: tuple[str, ...]
    pool: str
    user: str
    user_secret: SecretReference | None
    keyring: str
    image_format: str
    features: tuple[str, ...]
    fs_type: str


def read_parameters(parameters: Mapping[str, str]) -> RbdParameters:
    """Raises: PluginError."""
    known = {
        *("monitors", "adminid", "adminsecretname", "adminsecretnamespace", "userid", "pool"),
        *("usersecretname", "usersecretnamespace", "keyring", "imageformat", "imagefeatures"),
        "fstype",
    }
    for key in parameters:
        if key.lower() not in known:
            raise unknown_option(key, NAME)
    given = {key.lower(): value for key, value in parameters.items()}
    features = tuple(given["imagefeatures"].split(",")) if "imagefeatures" in given else ()
    for feature in features:
        if feature not in FEATURES:
            raise PluginError(
                f'invalid feature "{feature}" for volume plugin {NAME}, '
                "supported features are: map[layering:{}]"
            )
    image_format = given.get("imageformat", "2")
    if image_format not in FORMATS:
        raise PluginError(f"invalid ceph imageformat {image_format}, expecting 1 or 2")
    administrator = read_administrator(parameters)
    monitors = tuple(given["monitors"].split(",")) if given.get("monitors") else ()
    if not monitors:
        raise PluginError("missing Ceph monitors")
    secret, keyring = given.get("usersecretname", ""), given.get("keyring", "")
    if not secret and not keyring:
        raise PluginError("must specify either keyring or user secret name")
    namespace = given.get("usersecretnamespace", "")
    found = RbdParameters(
        administrator=administrator,
        monitors=monitors,
        pool=given.get("pool") or POOL,
        user=given.get("userid") or administrator.user,
        user_secret=SecretReference(secret, namespace) if secret else None,
        keyring="" if secret else keyring,
        image_format=image_format,
        features=features,
        fs_type=given.get("fstype", ""),
    )
    _check(found)
    return found


def read_administrator(parameters: Mapping[str, str]) -> Administrator:
    """Of a volume that is there already nothing else counts. Raises: PluginError."""
    given = {key.lower(): value for key, value in parameters.items()}
    name = given.get("adminsecretname", "")
    if not name:
        raise PluginError("missing Ceph admin secret name")
    namespace = given.get("adminsecretnamespace", ADMIN_NAMESPACE)
    user = given.get("adminid") or ADMIN
    try:
        ceph_values.check_user("adminId", user)
    except VolumeError as error:
        raise PluginError(str(error)) from error
    return Administrator(user, Key(namespace, name))


def _check(found: RbdParameters) -> None:
    """What a program could take for something else; the node would refuse it, too."""
    try:
        ceph_values.check_monitors("monitors", found.monitors)
        ceph_values.check_user("userId", found.user)
        check_names(found.pool, "image")
        if found.keyring:
            _check_keyring(found.keyring)
    except VolumeError as error:
        raise PluginError(str(error)) from error


def _check_keyring(path: str) -> None:
    try:
        ceph_values.check_file("keyring", path)
    except VolumeError as error:
        raise PluginError("keyring field must contain a path to a file") from error
