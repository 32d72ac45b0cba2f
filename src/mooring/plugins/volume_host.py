"""What a plugin works with on a node."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Protocol

import msgspec

from mooring.clock import Clock
from mooring.host.contract import MountOps
from mooring.model.config_map import ConfigMap
from mooring.model.endpoints import Endpoints
from mooring.model.keys import Key
from mooring.model.secret import Secret
from mooring.model.secret_value import SecretValue
from mooring.model.selector import SelectorDocument
from mooring.plugins.layout import Layout


class Token(msgspec.Struct, frozen=True):
    value: SecretValue
    expires_at: float  # seconds since the epoch


class TokenWish(msgspec.Struct, frozen=True):
    """A token of a pod's service account, good as long as the pod lives."""

    account: Key
    pod_name: str
    pod_uid: str
    audiences: tuple[str, ...]
    seconds: int


class NodeObjects(Protocol):
    """What a node may see of the API for its pods; newest as far as the node knows."""

    async def secret(self, key: Key) -> Secret:
        """Raises: NotFound, ApiError, ConnectionLost."""
        ...

    async def config_map(self, key: Key) -> ConfigMap: ...

    async def endpoints(self, key: Key) -> Endpoints: ...

    async def token(self, wish: TokenWish) -> Token:
        """A token that is good for a while; the same one until it grows old."""
        ...

    async def forget_tokens(self, pod_uid: str) -> None: ...

    async def trust_bundle(self, name: str) -> str:
        """PEM. Raises: NotFound."""
        ...

    async def trust_bundles(self, signer: str, selector: SelectorDocument | None) -> Sequence[str]:
        """PEM of all that match; no selector matches nothing, an empty one all."""
        ...

    async def node_labels(self) -> Mapping[str, str]: ...

    def allocatable(self) -> Mapping[str, str]:
        """What pods may use of this machine."""
        ...


class Host(msgspec.Struct, frozen=True):
    """What a plugin works with on a node."""

    layout: Layout
    mounts: MountOps
    objects: NodeObjects
    clock: Clock
    rng: Random
    node_name: str
