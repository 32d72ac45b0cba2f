"""Objects of the API that a node may see, and volumes made of them."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from mooring.errors import MooringError, NotFound
from mooring.model.config_map import ConfigMap
from mooring.model.endpoints import EndpointAddress, Endpoints, EndpointSubset
from mooring.model.keys import Key
from mooring.model.meta import ObjectMeta
from mooring.model.pod import Pod
from mooring.model.pod_volume import (
    ConfigMapSource,
    DownwardFile,
    DownwardSource,
    FieldRef,
    KeyedProjection,
    KeyToPath,
    PodVolume,
    ProjectedSource,
    Projection,
    SecretSource,
    TokenProjection,
)
from mooring.model.secret import Secret
from mooring.model.secret_value import SecretValue
from mooring.model.selector import SelectorDocument
from mooring.model.volume_use import VolumeUse
from mooring.plugins.volume_host import Token, TokenWish
from tests.unit.plugins.world import MANY_BYTES, EmptyApi, a_pod, inline

NAMESPACE = "default"
READABLE = 0o644


class PlayedApi(EmptyApi):
    """`NodeObjects` that a test fills and changes; all are of one namespace."""

    def __init__(self, allocatable: Mapping[str, str] | None = None) -> None:
        super().__init__(allocatable or {"memory": MANY_BYTES})
        self.secrets: dict[str, Mapping[str, bytes]] = {}
        self.config_maps: dict[str, Mapping[str, str]] = {}
        self.binaries: dict[str, Mapping[str, bytes]] = {}
        self.bundles: dict[str, str] = {}
        self.servers: dict[str, Sequence[str]] = {}  # the addresses of endpoints
        self.signed: dict[str, Sequence[str]] = {}
        self.token_text = "token-1"
        self.wishes: list[TokenWish] = []
        self.forgotten: list[str] = []
        self.trouble: MooringError | None = None  # what every question meets

    async def secret(self, key: Key) -> Secret:
        self._check(key)
        if (data := self.secrets.get(key.name)) is None:
            return await super().secret(key)
        return Secret(data={name: SecretValue(value) for name, value in data.items()})

    async def config_map(self, key: Key) -> ConfigMap:
        self._check(key)
        if (data := self.config_maps.get(key.name)) is None:
            return await super().config_map(key)
        return ConfigMap(data=data, binary_data=self.binaries.get(key.name, {}))

    async def endpoints(self, key: Key) -> Endpoints:
        self._check(key)
        if (ips := self.servers.get(key.name)) is None:
            return await super().endpoints(key)
        addresses = tuple(EndpointAddress(ip) for ip in ips)
        return Endpoints(subsets=(EndpointSubset(addresses),))

    async def token(self, wish: TokenWish) -> Token:
        self._check(wish.account)
        self.wishes.append(wish)
        return Token(SecretValue(self.token_text.encode()), 0)

    async def forget_tokens(self, pod_uid: str) -> None:
        self.forgotten.append(pod_uid)

    async def trust_bundle(self, name: str) -> str:
        self._check(None)
        return self.bundles[name] if name in self.bundles else await super().trust_bundle(name)

    async def trust_bundles(self, signer: str, selector: SelectorDocument | None) -> Sequence[str]:
        self._check(None)
        return () if selector is None else self.signed.get(signer, ())

    def _check(self, key: Key | None) -> None:
        if self.trouble is not None:
            raise self.trouble
        if key is not None and key.namespace != NAMESPACE:
            raise NotFound(f"nothing is in namespace {key.namespace}")


def a_full_api() -> PlayedApi:
    """With an object for each of the volumes below."""
    api = PlayedApi()
    api.secrets["login"] = {"user": b"me", "password": b"\x00\xff"}
    api.secrets["ceph"] = {"key": b"AQB="}
    api.servers["storage"] = ("10.0.0.1", "10.0.0.2")
    api.config_maps["settings"] = {"color": "blue", "size": "9"}
    api.binaries["settings"] = {"logo": b"\x89PNG"}
    return api


def a_config_map_use(
    name: str = "settings",
    items: tuple[KeyToPath, ...] = (),
    mode: int | None = READABLE,
    *,
    optional: bool | None = None,
) -> VolumeUse:
    source = ConfigMapSource(name, items, mode, optional)
    return inline(PodVolume(name="files", config_map=source))


def a_secret_use(
    name: str = "login",
    items: tuple[KeyToPath, ...] = (),
    mode: int | None = READABLE,
    *,
    optional: bool | None = None,
) -> VolumeUse:
    source = SecretSource(name, items, mode, optional)
    return inline(PodVolume(name="files", secret=source))


def a_downward_use(*items: DownwardFile, mode: int | None = READABLE) -> VolumeUse:
    return inline(PodVolume(name="files", downward_api=DownwardSource(items, mode)))


def a_projected_use(sources: Iterable[Projection], mode: int | None = READABLE) -> VolumeUse:
    source = ProjectedSource(tuple(sources), mode)
    return inline(PodVolume(name="files", projected=source))


LABELS_FILE = DownwardFile("labels", FieldRef("metadata.labels"))
ALL_SOURCES = (
    Projection(secret=KeyedProjection("login")),
    Projection(config_map=KeyedProjection("settings", (KeyToPath("color", "config/color"),))),
    Projection(downward_api=DownwardSource((LABELS_FILE,))),
    Projection(service_account_token=TokenProjection("token")),
)


def a_told_pod(**metadata: Mapping[str, str]) -> Pod:
    """With labels and annotations, and an account."""
    pod = a_pod()
    meta: ObjectMeta = replace(pod.metadata, **metadata)
    return replace(pod, metadata=meta, spec=replace(pod.spec, service_account_name="builder"))
