"""Label and field selectors."""

from typing import Any
from urllib.parse import quote

import pytest

from tests.fakes.api import ApiUnderTest
from tests.fakes.objects import (
    ATTACHMENTS,
    CLAIMS,
    CLASSES,
    CONFIG_MAPS,
    EVENTS,
    LEASES,
    NAMESPACES,
    NEW_EVENTS,
    NODES,
    PODS,
    SECRETS,
    SNAPSHOTS,
    TRUST_BUNDLES,
    VOLUMES,
    a_claim,
    a_labelled,
    a_namespace,
    a_node,
    a_pod,
    a_secret,
    a_trust_bundle,
    an_event,
)

Doc = dict[str, Any]


async def found(api: ApiUnderTest, collection: str, **query: str) -> list[str]:
    text = "&".join(f"{name}={quote(value)}" for name, value in query.items())
    answer = await api.get(f"{collection}?{text}")
    assert answer.code == 200, answer.text
    return [item["metadata"]["name"] for item in answer.doc["items"]]


LABELLED = {
    "bare": {},
    "b": {"a": "b"},
    "bd": {"a": "b", "d": "1"},
    "cg": {"a": "c", "g": "7"},
    "bf": {"a": "b", "e": "f", "g": "x"},
    "empty": {"a": ""},
}

LABELS = {
    "a value": ("a=b", ["b", "bd", "bf"]),
    "a value with ==": ("a==b", ["b", "bd", "bf"]),
    "the empty value": ("a=", ["empty"]),
    "another value, or none": ("a!=b", ["bare", "cg", "empty"]),
    "one of several": ("a in (b,c)", ["b", "bd", "bf", "cg"]),
    "none of several, or no label": ("a notin (b,c)", ["bare", "empty"]),
    "a label": ("a", ["b", "bd", "bf", "cg", "empty"]),
    "no such label": ("!a", ["bare"]),
    "greater": ("g>6", ["cg"]),
    "less": ("g<6", []),
    "several terms, all of them": ("a=b,d", ["bd"]),
    "all forms together": ("a in (b,c),!d,e!=f,g", ["cg"]),
    "spaces do not matter": (" a in ( b , c ) , ! d ", ["b", "bf", "cg"]),
    "nothing picks everything": ("", ["b", "bare", "bd", "bf", "cg", "empty"]),
}


@pytest.mark.parametrize(("selector", "names"), LABELS.values(), ids=LABELS)
async def test_labels(api: ApiUnderTest, selector: str, names: list[str]) -> None:
    await api.post(NAMESPACES, a_namespace("team"))
    team = "/api/v1/namespaces/team/secrets"
    for name, labels in LABELLED.items():
        await api.post(team, {"metadata": {"name": name, "labels": labels}})
    assert await found(api, team, labelSelector=selector) == names


UNREADABLE = {
    "two words": "a b",
    "an open list": "a in (b",
    "an empty list is no list": "a in",
    "a value that is no label value": "a=b c",
    "a key that is no label key": "-a=b",
    "greater than a word": "a>b",
    "two operators": "a=b=c",
    "a value too long": f"a={'x' * 64}",
    "only a comma and a sign": ",=",
}


@pytest.mark.parametrize("selector", UNREADABLE.values(), ids=UNREADABLE)
async def test_labels_that_cannot_be_read_are_400(api: ApiUnderTest, selector: str) -> None:
    answer = await api.get(f"{CONFIG_MAPS}?labelSelector={quote(selector)}")
    assert (answer.code, answer.doc["reason"]) == (400, "BadRequest"), answer.text


UNKNOWN_FIELDS = {
    "spec.foo of a volume": (
        VOLUMES,
        "spec.foo=x",
        '"spec.foo" is not a known field selector: only',
    ),
    "the class of a volume": (VOLUMES, "spec.storageClassName=x", "is not a known field"),
    "the class of a claim": (CLAIMS, "spec.storageClassName=x", "is not a known field"),
    "the node of an attachment": (ATTACHMENTS, "spec.nodeName=x", "is not a known field"),
    "the provisioner of a class": (CLASSES, "provisioner=x", "is not a known field"),
    "the holder of a lease": (LEASES, "spec.holderIdentity=x", "is not a known field"),
    "the source of a snapshot": (SNAPSHOTS, "spec.source=x", ""),
    "spec.foo of a pod": (PODS, "spec.foo=x", "field label not supported: spec.foo"),
    "a key of a secret": (SECRETS, "data.key=x", "field label not supported: data.key"),
    "the note of an event": (EVENTS, "note=x", "field label not supported: note"),
    "a core field in the new view": (NEW_EVENTS, "involvedObject.name=x", "not supported"),
    "a term without a sign": (VOLUMES, "metadata.name", ""),
    "set operators are for labels": (VOLUMES, "metadata.name in (a)", ""),
    "an escape that is none": (VOLUMES, "metadata.name=a\\b", ""),
}


@pytest.mark.parametrize(
    ("path", "selector", "message"), UNKNOWN_FIELDS.values(), ids=UNKNOWN_FIELDS
)
async def test_fields_that_are_not_offered_are_400(
    api: ApiUnderTest, path: str, selector: str, message: str
) -> None:
    answer = await api.get(f"{path}?fieldSelector={quote(selector)}")
    assert (answer.code, answer.doc["reason"]) == (400, "BadRequest"), answer.text
    assert message in answer.doc["message"]


NAMED = {
    "by name": ("metadata.name=a", ["a"]),
    "by name with ==": ("metadata.name==a", ["a"]),
    "the same term twice": ("metadata.name=a,metadata.name=a", ["a"]),
    "two names are nobody's": ("metadata.name=a,metadata.name=b", []),
    "not this name": ("metadata.name!=a", ["b", "kube-root-ca.crt"]),
    "by namespace": ("metadata.namespace=default,metadata.name=b", ["b"]),
    "by another namespace": ("metadata.namespace=other", []),
    "nothing picks everything": ("", ["a", "b", "kube-root-ca.crt"]),
}


@pytest.mark.parametrize(("selector", "names"), NAMED.values(), ids=NAMED)
async def test_names(api: ApiUnderTest, selector: str, names: list[str]) -> None:
    for name in ("a", "b"):
        await api.post(CONFIG_MAPS, a_labelled(name))
    assert await found(api, CONFIG_MAPS, fieldSelector=selector) == names


async def test_labels_and_fields_both_hold(api: ApiUnderTest) -> None:
    await api.post(CONFIG_MAPS, a_labelled("a", x="1"))
    await api.post(CONFIG_MAPS, a_labelled("b", x="1"))
    assert await found(api, CONFIG_MAPS, labelSelector="x=1", fieldSelector="metadata.name=b") == [
        "b"
    ]


EVENT_FIELDS = {
    "no namespace: events about nodes": ("involvedObject.namespace=", ["of-node"]),
    "as describe asks about a node": (
        "involvedObject.uid=n1,involvedObject.name=n1,involvedObject.namespace=,"
        "involvedObject.kind=Node",
        ["of-node"],
    ),
    "as describe asks about a claim": (
        "involvedObject.kind=PersistentVolumeClaim,involvedObject.uid=u1,"
        "involvedObject.name=data,involvedObject.namespace=default",
        ["of-claim"],
    ),
    "by type": ("type=Normal", ["of-node"]),
    "by reason": ("reason=ProvisioningFailed", ["of-claim"]),
    "by source": ("source=binder", ["of-claim"]),
    "by the reporter in want of a source": ("source=kubelet", ["of-node"]),
    "by reporter": ("reportingComponent=kubelet", ["of-node"]),
    "by version of the object": ("involvedObject.apiVersion=v1", ["of-node"]),
    "by part of the object": ("involvedObject.fieldPath!=spec", ["of-claim", "of-node"]),
}


@pytest.mark.parametrize(("selector", "names"), EVENT_FIELDS.values(), ids=EVENT_FIELDS)
async def test_fields_of_events(api: ApiUnderTest, selector: str, names: list[str]) -> None:
    about = {"kind": "Node", "name": "n1", "uid": "n1", "apiVersion": "v1"}
    of_node = an_event(
        "of-node",
        involvedObject=about,
        type="Normal",
        reason="Starting",
        source={},
        reportingComponent="kubelet",
    )
    for event in (an_event("of-claim"), of_node):
        created = await api.post(EVENTS, event)
        assert created.code == 201, created.text
    assert await found(api, EVENTS, fieldSelector=selector) == names
    assert await found(api, "/api/v1/events", fieldSelector=selector) == names


async def test_the_new_view_of_events_selects_in_its_own_words(api: ApiUnderTest) -> None:
    await api.post(EVENTS, an_event("of-claim", reportingComponent="binder"))
    assert await found(api, NEW_EVENTS, fieldSelector="regarding.name=data") == ["of-claim"]
    assert await found(api, NEW_EVENTS, fieldSelector="regarding.name=other") == []
    assert await found(api, NEW_EVENTS, fieldSelector="reportingController=binder") == ["of-claim"]


POD_FIELDS = {
    "on a node": ("spec.nodeName=n1", ["placed"]),
    "on no node": ("spec.nodeName=", ["waiting"]),
    "as describe node asks": (
        "spec.nodeName=n1,status.phase!=Failed,status.phase!=Succeeded",
        ["placed"],
    ),
    "by phase": ("status.phase=Pending", ["placed", "waiting"]),
    "by restart policy": ("spec.restartPolicy=Always", ["placed", "waiting"]),
    "by scheduler": ("spec.schedulerName=default-scheduler", ["placed", "waiting"]),
    "by service account": ("spec.serviceAccountName=default", ["placed", "waiting"]),
    "on the host's network": ("spec.hostNetwork=true", []),
    "not on the host's network": ("spec.hostNetwork=false", ["placed", "waiting"]),
    "by address": ("status.podIP=10.0.0.1", []),
    "by nominated node": ("status.nominatedNodeName=n1", []),
}


@pytest.mark.parametrize(("selector", "names"), POD_FIELDS.values(), ids=POD_FIELDS)
async def test_fields_of_pods(api: ApiUnderTest, selector: str, names: list[str]) -> None:
    for pod in (a_pod("placed", node="n1"), a_pod("waiting")):
        created = await api.post(PODS, pod)
        assert created.code == 201, created.text
    assert await found(api, PODS, fieldSelector=selector) == names


async def test_fields_of_other_kinds(api: ApiUnderTest) -> None:
    await api.post(SECRETS, a_secret("opaque"))
    await api.post(SECRETS, a_secret("other") | {"type": "example.com/key"})
    assert await found(api, SECRETS, fieldSelector="type=Opaque") == ["opaque"]
    await api.post(NODES, a_node("open"))
    await api.post(NODES, a_node("closed") | {"spec": {"unschedulable": True}})
    assert await found(api, NODES, fieldSelector="spec.unschedulable=true") == ["closed"]
    assert await found(api, NODES, fieldSelector="spec.unschedulable=false") == ["open"]
    assert "default" in await found(api, NAMESPACES, fieldSelector="status.phase=Active")
    assert await found(api, NAMESPACES, fieldSelector="status.phase=Terminating") == []


async def test_selectors_choose_what_a_collection_s_delete_deletes(api: ApiUnderTest) -> None:
    for name, colour in (("a", "red"), ("b", "blue"), ("c", "red")):
        await api.post(CONFIG_MAPS, a_labelled(name, colour=colour))
    answer = await api.delete(f"{CONFIG_MAPS}?labelSelector=colour%3Dred")
    assert [item["metadata"]["name"] for item in answer.doc["items"]] == ["a", "c"]
    assert await found(api, CONFIG_MAPS, labelSelector="colour") == ["b"]


async def test_a_claim_is_found_across_namespaces_by_name(api: ApiUnderTest) -> None:
    await api.post(NAMESPACES, a_namespace("team"))
    for namespace in ("default", "team"):
        created = await api.post(
            f"/api/v1/namespaces/{namespace}/persistentvolumeclaims", a_claim("data")
        )
        assert created.code == 201
    answer = await api.get("/api/v1/persistentvolumeclaims?fieldSelector=metadata.name%3Ddata")
    places = [item["metadata"]["namespace"] for item in answer.doc["items"]]
    assert places == ["default", "team"]


BUNDLES = {
    "the bundles of a signer": ("spec.signerName=x.io/a", ["x.io:a:v1", "x.io:a:v2"]),
    "those of nobody": ("spec.signerName=", ["roots"]),
    "all but those of a signer": ("spec.signerName!=x.io/a", ["roots", "x.io:b:v1"]),
    "one by its name": ("metadata.name=x.io:a:v2", ["x.io:a:v2"]),
}


@pytest.mark.parametrize(("selector", "names"), BUNDLES.values(), ids=BUNDLES)
async def test_trust_bundles_by_signer(api: ApiUnderTest, selector: str, names: list[str]) -> None:
    signed = {"roots": "", "x.io:a:v1": "x.io/a", "x.io:a:v2": "x.io/a", "x.io:b:v1": "x.io/b"}
    for name, signer in signed.items():
        assert (await api.post(TRUST_BUNDLES, a_trust_bundle(name, signer))).code == 201
    assert await found(api, TRUST_BUNDLES, fieldSelector=selector) == names
