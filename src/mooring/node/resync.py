"""When a pod's volumes are looked at again though nothing is known to have changed: pure.

Whatever the node watches needs this only as a net. What it cannot watch is polled once a minute, as
upstream polls everything; and a service account token is renewed in the last fifth of its life, so
each volume with one is looked at several times in that fifth.
"""

from collections.abc import Iterable, Iterator

from mooring.model.pod_volume import Projection
from mooring.model.volume_use import VolumeUse

POLL_SECONDS = 60.0
NET_SECONDS = 600.0
JITTER = 0.5  # of it, at most, on top: not all pods at once

_HOUR = 3600  # the life of a token that asks for none; a server may grant less than is asked for
_LOOKS_PER_LIFE = 15  # with the jitter, one in a tenth of its life at the least


def resync_seconds(following: Iterable[VolumeUse], *, polls_claims: bool) -> float:
    """`following` are the volumes with content that follows the API; of claims, those count that
    the node would have to watch and cannot.
    """
    return min((POLL_SECONDS if polls_claims else NET_SECONDS, *map(_seconds, following)))


def _seconds(use: VolumeUse) -> float:
    inline = use.inline
    if inline is None:
        return POLL_SECONDS
    if inline.projected is not None:
        return min(map(_of_source, inline.projected.sources or ()), default=NET_SECONDS)
    is_watched = inline.config_map or inline.secret or inline.downward_api
    return NET_SECONDS if is_watched else POLL_SECONDS


def _of_source(source: Projection) -> float:
    return min(_needs(source), default=NET_SECONDS)


def _needs(source: Projection) -> Iterator[float]:
    if source.service_account_token is not None:
        life = min(source.service_account_token.expiration_seconds or _HOUR, _HOUR)
        yield max(life / _LOOKS_PER_LIFE, POLL_SECONDS)
    if source.cluster_trust_bundle is not None or source.pod_certificate is not None:
        yield POLL_SECONDS
