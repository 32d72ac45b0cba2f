"""What a StorageClass of `kubernetes.io/glusterfs` says. Pure."""

from collections.abc import Mapping

import msgspec

from mooring.model.document import Doc
from mooring.model.keys import Key
from mooring.plugins.contract import PluginError
from mooring.plugins.glusterfs.mount import NAME
from mooring.plugins.provisioning import unknown_option
from mooring.plugins.rest import origin_of

GID_MIN, GID_MAX = 2000, 2147483647
REPLICAS = 3
EP_PREFIX, MOST_EP_PREFIX = "glusterfs-dynamic", 26
_KNOWN = {
    *("resturl", "restuser", "restuserkey", "secretname", "secretnamespace", "clusterid"),
    *("restauthenabled", "gidmin", "gidmax", "volumetype", "volumeoptions", "volumenameprefix"),
    *("snapfactor", "customepnameprefix"),
}


class GlusterParameters(msgspec.Struct, frozen=True, kw_only=True):
    url: str
    user: str
    key: str  # unless a secret is named
    secret: Key | None
    clusters: tuple[str, ...]
    gid_min: int
    gid_max: int
    durability: Doc
    volume_options: tuple[str, ...]
    name_prefix: str
    snap_factor: float
    endpoints_prefix: str

    def __repr__(self) -> str:
        return f"GlusterParameters(url={self.url!r})"


def read_parameters(parameters: Mapping[str, str]) -> GlusterParameters:
    """Raises: PluginError."""
    for key in parameters:
        if key.lower() not in _KNOWN:
            raise unknown_option(key, NAME)
    given = {key.lower(): value for key, value in parameters.items()}
    lowest, highest = _gid(parameters, "gidMin", GID_MIN), _gid(parameters, "gidMax", GID_MAX)
    prefix = given.get("customepnameprefix", EP_PREFIX)
    if len(prefix) > MOST_EP_PREFIX:
        raise PluginError(f"'customepnameprefix' value should be < {MOST_EP_PREFIX} characters")
    if not given.get("resturl"):
        raise PluginError(f"StorageClass for provisioner {NAME} must contain 'resturl' parameter")
    origin_of("resturl", given["resturl"])
    durability = _durability(given.get("volumetype", ""))
    has_auth = given.get("restauthenabled", "true").lower() == "true"
    name, namespace = given.get("secretname", ""), given.get("secretnamespace", "")
    if has_auth and bool(name) != bool(namespace):
        raise PluginError(
            f'StorageClass for provisioner "{NAME}" must have secretNamespace and secretName '
            "either both set or both empty"
        )
    if lowest > highest:
        raise PluginError(f'StorageClass for provisioner "{NAME}" must have gidMax value >= gidMin')
    if "_" in given.get("volumenameprefix", ""):
        raise PluginError(
            "Storageclass parameter 'volumenameprefix' should not contain '_' in its value"
        )
    return GlusterParameters(
        url=given["resturl"].rstrip("/"),
        user=given.get("restuser", "") if has_auth else "",
        key=given.get("restuserkey", "") if has_auth else "",
        secret=Key(namespace, name) if has_auth and name else None,
        clusters=_split(given.get("clusterid", "")),
        gid_min=lowest,
        gid_max=highest,
        durability=durability,
        volume_options=_split(given.get("volumeoptions", "")),
        name_prefix=given.get("volumenameprefix", ""),
        snap_factor=_snap_factor(given.get("snapfactor", "")),
        endpoints_prefix=prefix,
    )


def _gid(parameters: Mapping[str, str], name: str, default: int) -> int:
    for key, value in parameters.items():
        if key.lower() != name.lower():
            continue
        if not value.isascii() or not value.isdigit() or int(value) > GID_MAX:
            raise PluginError(f'invalid {name} value "{key}" for volume plugin {NAME}')
        if int(value) < GID_MIN:
            raise PluginError(f"{name} must be >= {GID_MIN}")
        return int(value)
    return default


def _durability(text: str) -> Doc:
    match text.split(":") if text else ["replicate"]:
        case ["replicate"]:
            return {"type": "replicate", "replicate": {"replica": REPLICAS}}
        case ["replicate", count, *_]:
            return {"type": "replicate", "replicate": {"replica": _count(count)}}
        case ["disperse", data, redundancy, *_]:
            numbers = {"data": _count(data), "redundancy": _count(redundancy)}
            return {"type": "disperse", "disperse": numbers}
        case ["disperse", *_]:
            raise PluginError(
                f'StorageClass for provisioner "{NAME}" must have data:redundancy count set for '
                "disperse volumes in storage class option 'volumetype'"
            )
        case ["none", *_]:
            return {"type": "none"}
        case _:
            what = "error parsing value for option 'volumetype'"
            raise PluginError(f"{what} for volume plugin {NAME}")


def _count(text: str) -> int:
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdigit():
        why = f'failed to parse volumestring "{text}"'
        raise PluginError(f'error parsing volumeType "{text}": {why}')
    if text.startswith("-"):
        raise PluginError(f'error parsing volumeType "{text}": negative values are not allowed')
    return int(text)


def _snap_factor(text: str) -> float:
    if not text:
        return 1.0
    try:
        factor = float(text)
    except ValueError as error:
        raise PluginError(f"failed to convert snapfactor {text} to float: {error}") from error
    if not 1.0 <= factor <= 100.0:
        raise PluginError(f"invalid snapshot factor {text}, the value must be between 1 to 100")
    return factor


def _split(text: str) -> tuple[str, ...]:
    return tuple(text.split(",")) if text else ()
