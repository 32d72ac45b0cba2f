"""When a pod's volumes are looked at again without a cause."""

import pytest

from mooring.model.pod_volume import (
    ConfigMapSource,
    DownwardSource,
    InlineCsiSource,
    KeyedProjection,
    PodVolume,
    ProjectedSource,
    Projection,
    SecretSource,
    TokenProjection,
    TrustBundleProjection,
)
from mooring.model.volume import Volume
from mooring.model.volume_use import VolumeUse
from mooring.node.resync import JITTER, NET_SECONDS, POLL_SECONDS, resync_seconds

SECRET = Projection(secret=KeyedProjection("s"))


def inline(**source: object) -> VolumeUse:
    return VolumeUse(inline=PodVolume(name="v", **source))  # type: ignore[arg-type]


def projected(*sources: Projection) -> VolumeUse:
    return inline(projected=ProjectedSource(sources))


def a_token(seconds: int | None) -> Projection:
    return Projection(service_account_token=TokenProjection("token", "", seconds))


WATCHED = {
    "a config map": inline(config_map=ConfigMapSource("c")),
    "a secret": inline(secret=SecretSource("s")),
    "the pod itself": inline(downward_api=DownwardSource()),
    "several of them": projected(SECRET, Projection(config_map=KeyedProjection("c"))),
    "nothing at all": projected(),
}
POLLED = {
    "a driver that wants to be asked": inline(csi=InlineCsiSource("d")),
    "the same behind a claim": VolumeUse(volume=Volume()),
    "a trust bundle": projected(
        SECRET, Projection(cluster_trust_bundle=TrustBundleProjection("ca.pem"))
    ),
}


@pytest.mark.parametrize("use", WATCHED.values(), ids=WATCHED.keys())
def test_what_is_watched_needs_only_a_net(use: VolumeUse) -> None:
    assert resync_seconds([use], polls_claims=False) == NET_SECONDS


@pytest.mark.parametrize("use", POLLED.values(), ids=POLLED.keys())
def test_what_cannot_be_watched_is_polled(use: VolumeUse) -> None:
    assert resync_seconds([use], polls_claims=False) == POLL_SECONDS


def test_one_volume_that_is_polled_is_enough() -> None:
    both = [*WATCHED.values(), POLLED["a trust bundle"]]
    assert resync_seconds(both, polls_claims=False) == POLL_SECONDS
    assert resync_seconds(WATCHED.values(), polls_claims=True) == POLL_SECONDS


@pytest.mark.parametrize(
    ("asked", "granted"),
    [(600, 600), (900, 900), (3607, 3607), (None, 3600), (86_400, 86_400), (86_400, 3600)],
)
def test_a_token_is_looked_at_in_the_last_fifth_of_its_life_and_before_its_end(
    asked: int | None, granted: int
) -> None:
    pause = resync_seconds([projected(SECRET, a_token(asked))], polls_claims=False)
    assert POLL_SECONDS <= pause <= NET_SECONDS
    assert pause * (1 + JITTER) < granted / 5
