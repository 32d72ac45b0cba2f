"""projected: several sources in one directory."""

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from mooring.errors import ConnectionLost, HostError
from mooring.host.atomic_dir import FileContent
from mooring.model.keys import Key
from mooring.model.pod_volume import (
    DownwardFile,
    DownwardSource,
    FieldRef,
    KeyedProjection,
    KeyToPath,
    Projection,
    TokenProjection,
    TrustBundleProjection,
)
from mooring.model.secret import Secret
from mooring.model.selector import Expression, SelectorDocument
from mooring.plugins.contract import MountRequest
from mooring.plugins.payload import Files, Incomplete
from mooring.plugins.projected import ProjectedPlugin
from mooring.plugins.projections import Projections
from mooring.plugins.volume_host import Host, TokenWish
from tests.fakes.mounts import FakeMounts
from tests.unit.plugins.objects import (
    ALL_SOURCES,
    PlayedApi,
    a_projected_use,
    a_told_pod,
)
from tests.unit.plugins.test_trust_anchors import ONE, TWO
from tests.unit.plugins.world import POD_UID, Told, a_host, a_request

SIGNER = "example.com/ca"
ALL_LABELS = SelectorDocument()
TOKEN = Projection(service_account_token=TokenProjection("token"))


@pytest.fixture
def api(api: PlayedApi) -> PlayedApi:
    """And trust bundles."""
    api.bundles["roots"] = TWO + ONE + TWO
    api.signed[SIGNER] = (TWO, ONE + TWO)
    return api


async def gather(
    api: PlayedApi, *sources: Projection, fs_user: int | None = None, fs_group: int | None = None
) -> Files:
    request = MountRequest(Told(), fs_user=fs_user, fs_group=fs_group)
    pod = a_told_pod(labels={"app": "web"})
    return await Projections(api, pod, 0o644, request).gather(sources)


async def refusal(api: PlayedApi, *sources: Projection) -> str:
    with pytest.raises(Incomplete) as refused:
        await gather(api, *sources)
    return str(refused.value)


async def test_every_source_has_its_files(api: PlayedApi) -> None:
    assert await gather(api, *ALL_SOURCES) == {
        "user": FileContent(b"me", 0o644),
        "password": FileContent(b"\x00\xff", 0o644),
        "config/color": FileContent(b"blue", 0o644),
        "labels": FileContent(b'app="web"', 0o644),
        "token": FileContent(b"token-1", 0o644),
    }


async def test_a_source_of_nothing_has_none(api: PlayedApi) -> None:
    assert await gather(api, Projection()) == {}


async def test_where_paths_are_the_same_the_later_source_wins(api: PlayedApi) -> None:
    first = Projection(secret=KeyedProjection("login", (KeyToPath("user", "x"),)))
    second = Projection(config_map=KeyedProjection("settings", (KeyToPath("size", "x"),)))
    assert (await gather(api, first, second))["x"].data == b"9"
    assert (await gather(api, second, first))["x"].data == b"me"


async def test_all_that_is_wrong_is_told_at_a_time(api: PlayedApi) -> None:
    wrong = DownwardSource(
        (
            DownwardFile("a", FieldRef("spec.x")),
            DownwardFile("b", FieldRef("spec.y")),
        )
    )
    told = await refusal(
        api,
        Projection(secret=KeyedProjection("nobody")),
        Projection(downward_api=wrong),
        Projection(secret=KeyedProjection("nobody")),
        Projection(config_map=KeyedProjection("settings", (KeyToPath("taste", "t"),))),
    )
    assert told == (
        '[secrets "nobody" not found, unsupported fieldPath: spec.x, unsupported fieldPath: spec.y,'
        " configmap references non-existent config key: taste]"
    )


async def test_sources_are_optional_one_by_one(api: PlayedApi) -> None:
    may_miss = Projection(secret=KeyedProjection("nobody", optional=True))
    assert await gather(api, may_miss) == {}
    assert await refusal(api, may_miss, Projection(config_map=KeyedProjection("nobody"))) == (
        'configmaps "nobody" not found'
    )


class SlowApi(PlayedApi):
    """Answers no question about a secret before as many as expected are asked."""

    def __init__(self, expected: int) -> None:
        super().__init__()
        self.secrets["login"] = {"user": b"me"}
        self._together = asyncio.Barrier(expected)

    async def secret(self, key: Key) -> Secret:
        await self._together.wait()
        return await super().secret(key)


async def test_sources_are_asked_at_the_same_time() -> None:
    source = Projection(secret=KeyedProjection("login"))
    assert list(await gather(SlowApi(3), source, source, source)) == ["user"]


async def test_a_token_is_the_pods_own(api: PlayedApi) -> None:
    wanted = TokenProjection("token", audience="vault", expiration_seconds=600)
    await gather(api, TOKEN, Projection(service_account_token=wanted))
    account = Key("default", "builder")
    assert api.wishes == [
        TokenWish(account, "web", POD_UID, (), 3600),
        TokenWish(account, "web", POD_UID, ("vault",), 600),
    ]


OWNED = {
    "nobody in particular": (None, None, 0o644),
    "one user": (1000, None, 0o600),
    "a group": (None, 2000, 0o600),
    "one user and a group": (1000, 2000, 0o600),
    "root is a user too": (0, None, 0o600),
}


@pytest.mark.parametrize(("user", "group", "mode"), OWNED.values(), ids=[*OWNED])
async def test_credentials_are_for_the_pods_user_alone(
    api: PlayedApi, user: int | None, group: int | None, mode: int
) -> None:
    bundle = Projection(cluster_trust_bundle=TrustBundleProjection("ca", name="roots"))
    files = await gather(api, TOKEN, bundle, *ALL_SOURCES[:1], fs_user=user, fs_group=group)
    assert files["token"] == FileContent(b"token-1", mode, user)
    assert files["ca"] == FileContent((ONE + TWO).encode(), mode, user)
    assert files["user"] == FileContent(b"me", 0o644)


async def test_a_renewed_token_takes_the_place_of_the_old_one(host: Host, api: PlayedApi) -> None:
    mounter = ProjectedPlugin(host).mounter(a_projected_use([TOKEN]), a_told_pod())
    await mounter.set_up(a_request())
    api.token_text = "token-2"
    await mounter.set_up(a_request())
    assert (mounter.path / "token").read_text() == "token-2"


async def test_without_a_new_token_the_old_one_stays(host: Host, api: PlayedApi) -> None:
    mounter = ProjectedPlugin(host).mounter(a_projected_use([TOKEN]), a_told_pod())
    await mounter.set_up(a_request())
    api.trouble = ConnectionLost("failed to fetch token: connection refused")
    with pytest.raises(Incomplete, match="failed to fetch token: connection refused"):
        await mounter.set_up(a_request())
    assert (mounter.path / "token").read_text() == "token-1"


BUNDLES = {
    "by name": (TrustBundleProjection("ca", name="roots"), ONE + TWO),
    "by signer, whatever the labels": (
        TrustBundleProjection("ca", signer_name=SIGNER, label_selector=ALL_LABELS),
        ONE + TWO,
    ),
    "a name that is missing, and may be": (
        TrustBundleProjection("ca", name="nobody", optional=True),
        "",
    ),
    "a signer without selector, optional": (
        TrustBundleProjection("ca", signer_name=SIGNER, optional=True),
        "",
    ),
}


@pytest.mark.parametrize(("wanted", "text"), BUNDLES.values(), ids=[*BUNDLES])
async def test_trust_bundles(api: PlayedApi, wanted: TrustBundleProjection, text: str) -> None:
    files = await gather(api, Projection(cluster_trust_bundle=wanted))
    assert files == {"ca": FileContent(text.encode(), 0o644)}


NO_BUNDLES = {
    "a name that is missing": (
        TrustBundleProjection("ca", name="nobody"),
        'while getting ClusterTrustBundle: clustertrustbundles "nobody" not found',
    ),
    "a signer without selector": (
        TrustBundleProjection("ca", signer_name=SIGNER),
        "combination of signerName and labelSelector matched zero ClusterTrustBundles",
    ),
    "a selector that makes no sense": (
        TrustBundleProjection(
            "ca",
            signer_name=SIGNER,
            label_selector=SelectorDocument(match_expressions=(Expression("a", "Near"),)),
            optional=True,
        ),
        'while parsing label selector: "Near" is not a valid label selector operator',
    ),
    "neither name nor signer": (
        TrustBundleProjection("ca"),
        "ClusterTrustBundle projection requires either name or signerName to be set",
    ),
}


@pytest.mark.parametrize(("wanted", "text"), NO_BUNDLES.values(), ids=[*NO_BUNDLES])
async def test_trust_bundles_that_cannot_be_had(
    api: PlayedApi, wanted: TrustBundleProjection, text: str
) -> None:
    assert await refusal(api, Projection(cluster_trust_bundle=wanted)) == text


async def test_certificates_for_pods_are_refused(api: PlayedApi) -> None:
    assert await refusal(api, Projection(pod_certificate={"keyType": "ED25519"})) == (
        "podCertificate projection is not supported: it needs the feature gate "
        "PodCertificateRequest, which is off"
    )


async def test_no_sources_are_an_empty_volume(host: Host) -> None:
    mounter = ProjectedPlugin(host).mounter(a_projected_use(()), a_told_pod())
    await mounter.set_up(a_request())
    assert (mounter.path / "..data").is_dir()


async def test_tokens_are_forgotten_with_the_volume(host: Host, api: PlayedApi) -> None:
    plugin = ProjectedPlugin(host)
    await plugin.mounter(a_projected_use([TOKEN]), a_told_pod()).set_up(a_request())
    assert api.forgotten == []
    await plugin.unmounter("files", POD_UID).tear_down()
    assert api.forgotten == [POD_UID]


async def test_tokens_are_kept_while_the_volume_cannot_be_removed(
    tmp_path: Path, api: PlayedApi
) -> None:
    mounts = FakeMounts()
    host = replace(a_host(tmp_path, mounts), objects=api)
    mounter = ProjectedPlugin(host).mounter(a_projected_use([TOKEN]), a_told_pod())
    await mounter.set_up(a_request())
    mounts.keep_busy(mounter.path)
    with pytest.raises(HostError, match="busy"):
        await ProjectedPlugin(host).unmounter("files", POD_UID).tear_down()
    assert api.forgotten == []
