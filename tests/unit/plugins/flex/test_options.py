"""The JSON argument of a driver: every key, whose word counts, and hostile values."""

import json

import pytest

from mooring.model.keys import Key
from mooring.model.meta import ObjectMeta
from mooring.model.pod_volume import PodVolume
from mooring.model.secret_value import SecretValue
from mooring.model.volume import Volume, VolumeSpec
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import VolumeError
from mooring.plugins.flex.options import mount_options, volume_options
from mooring.plugins.flex.source import find_driver_name, is_read_only, secret_key
from tests.fakes.flex_driver import NAME
from tests.unit.plugins.objects import a_told_pod
from tests.unit.plugins.world import POD_UID, inline

HOSTILE = {
    "a": "x; rm -rf / #",
    "b": "line\nbreak\r\n",
    "c": "-o exec,suid",
    "d": "../../etc/passwd",
    "e": "$(id) `id` ${IFS}",
    "f": "\x00\x07\u2028'\"\\",
}


def a_use(**source: object) -> VolumeUse:
    return inline(PodVolume(name="data", flex_volume={"driver": NAME, **source}))


def a_volume_use(*, read_only: bool = False, **source: object) -> VolumeUse:
    spec = VolumeSpec(flex_volume={"driver": NAME, **source})
    volume = Volume(metadata=ObjectMeta(name="pv1"), spec=spec)
    return VolumeUse(volume=volume, read_only=read_only)


def test_a_volume_is_described() -> None:
    options = volume_options(a_use(fsType="ext4", options={"pool": "fast"}))
    assert json.loads(options.argument) == {
        "kubernetes.io/fsType": "ext4",
        "kubernetes.io/readwrite": "rw",
        "kubernetes.io/pvOrVolumeName": "data",
        "pool": "fast",
    }


def test_a_mount_is_told_of_the_pod_its_group_and_its_secret() -> None:
    secret = {"key": SecretValue(b"\x00hunter2")}
    options = mount_options(a_use(), a_told_pod(), secret, 2000)
    assert json.loads(options.argument) == {
        "kubernetes.io/fsType": "",
        "kubernetes.io/readwrite": "rw",
        "kubernetes.io/pvOrVolumeName": "data",
        "kubernetes.io/pod.name": "web",
        "kubernetes.io/pod.namespace": "default",
        "kubernetes.io/pod.uid": POD_UID,
        "kubernetes.io/serviceAccount.name": "builder",
        "kubernetes.io/mounterArgs.FsGroup": "2000",
        "kubernetes.io/secret/key": "AGh1bnRlcjI=",
    }
    assert "AGh1bnRlcjI=" in options.secrets
    assert "hunter2" not in repr(options.text)


def test_hostile_values_are_data() -> None:
    told = json.loads(volume_options(a_use(options=HOSTILE)).argument)
    assert {key: told[key] for key in HOSTILE} == HOSTILE
    assert "\0" not in volume_options(a_use(options=HOSTILE)).argument


@pytest.mark.parametrize(
    ("use", "mode"),
    [
        (a_use(), "rw"),
        (a_use(readOnly=True), "ro"),
        (a_volume_use(readOnly=True), "rw"),
        (a_volume_use(read_only=True), "ro"),
    ],
)
def test_read_only_is_said_by_the_pod(use: VolumeUse, mode: str) -> None:
    assert json.loads(volume_options(use).argument)["kubernetes.io/readwrite"] == mode
    assert is_read_only(use) is (mode == "ro")


def test_a_secret_is_in_the_namespace_of_the_pod_unless_the_volume_says_another() -> None:
    assert secret_key(a_use(), "web") is None
    named = {"name": "login", "namespace": "vault"}
    assert secret_key(a_use(secretRef=named), "web") == Key("web", "login")
    assert secret_key(a_volume_use(secretRef=named), "web") == Key("vault", "login")
    assert secret_key(a_volume_use(secretRef={"name": "login"}), "web") == Key("web", "login")


def test_what_is_no_flex_volume() -> None:
    other = inline(PodVolume(name="data"))
    assert find_driver_name(other) is None
    with pytest.raises(VolumeError, match="not a flexVolume"):
        volume_options(other)
    with pytest.raises(VolumeError, match="flexVolume"):
        volume_options(a_use(options={"a": 5}))
