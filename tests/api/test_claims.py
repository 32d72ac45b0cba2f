"""What claims take and refuse."""

from typing import Any

import pytest

from tests.fakes.api import ApiUnderTest
from tests.fakes.objects import (
    CLAIMS,
    CLASSES,
    a_claim,
    a_class,
)

Doc = dict[str, Any]

NEW_CLAIMS: dict[str, tuple[Doc, int, str]] = {
    "no access mode": (
        a_claim(accessModes=[]),
        422,
        "spec.accessModes: Required value: at least 1 access mode is required",
    ),
    "an abbreviation is no access mode": (
        a_claim(accessModes=["RWO"]),
        422,
        'spec.accessModes: Unsupported value: "RWO"',
    ),
    "once per pod, and more": (
        a_claim(accessModes=["ReadWriteOncePod", "ReadWriteOnce"]),
        422,
        "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes",
    ),
    "no storage": (
        a_claim(storage="0"),
        422,
        'spec.resources[storage]: Invalid value: "0": must be greater than zero',
    ),
    "less than no storage": (
        a_claim(storage="-1Gi"),
        422,
        'spec.resources[storage]: Invalid value: "-1Gi": must be greater than zero',
    ),
    "storage not asked for": (
        a_claim(resources={}),
        422,
        "spec.resources[storage]: Required value",
    ),
    "storage that is no quantity": (
        a_claim(storage="abc"),
        400,
        'PersistentVolumeClaim in version "v1" cannot be handled as a PersistentVolumeClaim: '
        "quantities must match the regular expression",
    ),
    "a mode that is none": (
        a_claim(volumeMode="Tape"),
        422,
        'spec.volumeMode: Unsupported value: "Tape": supported values: "Block", "Filesystem"',
    ),
    "a class that cannot be one": (
        a_claim(storageClassName="Fast_Class"),
        422,
        'spec.storageClassName: Invalid value: "Fast_Class"',
    ),
}


@pytest.mark.parametrize(("claim", "code", "message"), NEW_CLAIMS.values(), ids=NEW_CLAIMS)
async def test_refused_claims(api: ApiUnderTest, claim: Doc, code: int, message: str) -> None:
    answer = await api.post(CLAIMS, claim)
    assert answer.code == code, answer.text
    assert message in answer.doc["message"]
    if code == 422:
        prefix = 'PersistentVolumeClaim "data" is invalid: '
        assert answer.doc["message"].startswith(prefix)
        assert answer.doc["details"]["kind"] == "PersistentVolumeClaim"
        assert answer.doc["details"]["causes"][0]["field"].startswith("spec.")
    assert (await api.get(f"{CLAIMS}/data")).code == 404


async def test_fractions_of_a_byte_are_warned_of(api: ApiUnderTest) -> None:
    answer = await api.post(CLAIMS, a_claim(storage="1.5"))
    assert answer.code == 201
    (warning,) = answer.warnings
    assert "fractional byte value" in warning
    assert "1500m" in warning


def resized(claim: Doc, storage: Any) -> Doc:
    claim["spec"]["resources"] = {"requests": {"storage": storage}}
    return claim


QUANTITIES = {
    "binary": ("1024Mi", "1Gi"),
    "a fraction": ("1.5Gi", "1536Mi"),
    "decimal": ("1000M", "1G"),
    "a number": (10_000_000_000, "10G"),
    "an exponent": ("1e3", "1e3"),
    "plain": ("1024", "1024"),
}


@pytest.mark.parametrize(("given", "shown"), QUANTITIES.values(), ids=QUANTITIES)
async def test_amounts_read_back_in_one_spelling(api: ApiUnderTest, given: Any, shown: str) -> None:
    created = (await api.post(CLAIMS, a_claim(storage=given))).doc
    assert created["spec"]["resources"]["requests"]["storage"] == shown
    for spelling in (shown, given):
        again = await api.put(f"{CLAIMS}/data", resized(created, spelling))
        assert again.code == 200, again.text
        assert again.doc["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]


CLASS_CHOICES: dict[str, tuple[Doc, str | None]] = {
    "none named: the newest default": (a_claim(), "newer"),
    "the empty name stays": (a_claim(storageClassName=""), ""),
    "a named one stays": (a_claim(storageClassName="older"), "older"),
}


@pytest.mark.parametrize(("claim", "chosen"), CLASS_CHOICES.values(), ids=CLASS_CHOICES)
async def test_the_class_of_a_new_claim(api: ApiUnderTest, claim: Doc, chosen: str | None) -> None:
    await api.post(CLASSES, a_class("older", is_default=True))
    await api.clock.advance(60)
    await api.post(CLASSES, a_class("newer", is_default=True))
    await api.clock.advance(60)
    await api.post(CLASSES, a_class("newest-but-no-default"))
    created = (await api.post(CLAIMS, claim)).doc
    assert created["spec"].get("storageClassName") == chosen


async def test_of_default_classes_of_one_age_the_first_name_counts(api: ApiUnderTest) -> None:
    for name in ("b", "a", "c"):
        await api.post(CLASSES, a_class(name, is_default=True))
    created = (await api.post(CLAIMS, a_claim())).doc
    assert created["spec"]["storageClassName"] == "a"


async def test_without_a_default_class_none_is_chosen(api: ApiUnderTest) -> None:
    await api.post(CLASSES, a_class("fast"))
    created = (await api.post(CLAIMS, a_claim())).doc
    assert "storageClassName" not in created["spec"]


async def bound_claim(api: ApiUnderTest, *, expandable: bool) -> Doc:
    await api.post(CLASSES, a_class("fast", allowVolumeExpansion=expandable))
    await api.post(CLAIMS, a_claim(storage="4Gi", storageClassName="fast", volumeName="disk"))
    status = {"phase": "Bound", "capacity": {"storage": "2Gi"}}
    answer = await api.patch(f"{CLAIMS}/data/status", {"status": status})
    assert answer.code == 200
    return answer.doc


async def test_an_unbound_claim_s_spec_is_fixed(api: ApiUnderTest) -> None:
    claim = (await api.post(CLAIMS, a_claim())).doc
    answer = await api.put(f"{CLAIMS}/data", resized(claim, "2Gi"))
    assert answer.code == 422
    message = (
        "spec: Forbidden: spec is immutable after creation except resources.requests and "
        "volumeAttributesClassName for bound claims"
    )
    assert message in answer.doc["message"]


RESIZES = {
    "growth of what can grow": (True, "8Gi", 200, ""),
    "growth of what cannot": (
        False,
        "8Gi",
        403,
        'persistentvolumeclaims "data" is forbidden: only dynamically provisioned pvc can be '
        "resized and the storageclass that provisions the pvc must support resize",
    ),
    "back to more than there is": (True, "3Gi", 200, ""),
    "less than there is": (
        True,
        "1Gi",
        422,
        "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity",
    ),
    "just what there is": (
        True,
        "2Gi",
        422,
        "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity",
    ),
    "the same in other words": (False, "4096Mi", 200, ""),
}


@pytest.mark.parametrize(
    ("expandable", "storage", "code", "message"), RESIZES.values(), ids=RESIZES
)
async def test_a_bound_claim_is_resized(
    api: ApiUnderTest, storage: str, code: int, message: str, *, expandable: bool
) -> None:
    claim = await bound_claim(api, expandable=expandable)
    answer = await api.put(f"{CLAIMS}/data", resized(claim, storage))
    assert answer.code == code, answer.text
    if message:
        assert message in answer.doc["message"]


async def test_a_volume_is_named_once(api: ApiUnderTest) -> None:
    await api.post(CLAIMS, a_claim())
    assert (await api.patch(f"{CLAIMS}/data", {"spec": {"volumeName": "a"}})).code == 200
    assert (await api.patch(f"{CLAIMS}/data", {"spec": {"volumeName": "b"}})).code == 422


async def test_a_class_is_named_once(api: ApiUnderTest) -> None:
    await api.post(CLAIMS, a_claim())
    assert (await api.patch(f"{CLAIMS}/data", {"spec": {"storageClassName": "a"}})).code == 200
    assert (await api.patch(f"{CLAIMS}/data", {"spec": {"storageClassName": "b"}})).code == 422
