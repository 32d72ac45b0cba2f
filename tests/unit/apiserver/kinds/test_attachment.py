import pytest

from mooring.apiserver.kinds.attachment import ATTACHMENT, ATTACHMENT_BEFORE
from mooring.model.document import Doc
from tests.unit.apiserver.kinds.writing import (
    BEFORE,
    NO_SUBDOMAIN,
    create,
    created,
    merged,
    printed,
    status_updated,
    update,
    update_status,
    updated,
)


def an_attachment(**spec: object) -> Doc:
    return {
        "kind": "VolumeAttachment",
        "apiVersion": "storage.k8s.io/v1",
        "metadata": {"name": "csi-1", "creationTimestamp": BEFORE},
        "spec": {
            "attacher": "hostpath.csi.k8s.io",
            "nodeName": "n1",
            "source": {"persistentVolumeName": "pv-1"},
            **spec,
        },
    }


ONE = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
INLINE = {"accessModes": ["ReadWriteOnce"], "csi": {"driver": "d", "volumeHandle": "h"}}

CREATED: dict[str, tuple[Doc, list[str]]] = {
    "an attachment is fine": ({}, []),
    "an attacher is required": (
        {"spec": {"attacher": None}},
        ["spec.attacher: Required value"],
    ),
    "an attacher is a driver": (
        {"spec": {"attacher": "d" * 64}},
        ["spec.attacher: Too long: may not be more than 63 bytes"],
    ),
    "a source is required": (
        {"spec": {"source": None}},
        [f"spec.source: Required value: {ONE}"],
    ),
    "a source is one thing": (
        {"spec": {"source": {"inlineVolumeSpec": INLINE}}},
        [f"spec.source: Forbidden: {ONE}"],
    ),
    "a volume is named": (
        {"spec": {"source": {"persistentVolumeName": ""}}},
        [
            "spec.source.persistentVolumeName: Required value: "
            "must specify non empty persistentVolumeName",
            f'spec.source.persistentVolumeName: Invalid value: "": {NO_SUBDOMAIN}',
        ],
    ),
    "a volume has a DNS name": (
        {"spec": {"source": {"persistentVolumeName": "Not_A_Name"}}},
        [f'spec.source.persistentVolumeName: Invalid value: "Not_A_Name": {NO_SUBDOMAIN}'],
    ),
    "a volume may stand in it": (
        {"spec": {"source": {"persistentVolumeName": None, "inlineVolumeSpec": INLINE}}},
        [],
    ),
    "a volume that stands in it has no claim": (
        {
            "spec": {
                "source": {
                    "persistentVolumeName": None,
                    "inlineVolumeSpec": {**INLINE, "claimRef": {"name": "a"}},
                }
            }
        },
        [
            "spec.source.inlineVolumeSpec.claimRef: Forbidden: "
            "may not be specified in the context of inline volumes"
        ],
    ),
    "a node is required": (
        {"spec": {"nodeName": None}},
        [f'spec.nodeName: Invalid value: "": {NO_SUBDOMAIN}'],
    ),
    "a node has a DNS name": (
        {"spec": {"nodeName": "Not_A_Name"}},
        [f'spec.nodeName: Invalid value: "Not_A_Name": {NO_SUBDOMAIN}'],
    ),
}


@pytest.mark.parametrize(("patch", "complaints"), CREATED.values(), ids=CREATED)
def test_create(patch: Doc, complaints: list[str]) -> None:
    assert create(ATTACHMENT, merged(an_attachment(), patch)) == complaints


def test_a_new_attachment_is_not_attached_whatever_the_client_says() -> None:
    given = {**an_attachment(), "status": {"attached": True, "attachmentMetadata": {"a": "b"}}}
    assert created(ATTACHMENT, given)["status"] == {"attached": False}


UPDATED: dict[str, tuple[Doc, list[str]]] = {
    "labels may change": ({"metadata": {"labels": {"a": "b"}}}, []),
    "the node may not change": (
        {"spec": {"nodeName": "n2"}},
        [
            'spec: Invalid value: {"attacher":"hostpath.csi.k8s.io","nodeName":"n2",'
            '"source":{"persistentVolumeName":"pv-1"}}: field is immutable'
        ],
    ),
}


@pytest.mark.parametrize(("patch", "complaints"), UPDATED.values(), ids=UPDATED)
def test_update(patch: Doc, complaints: list[str]) -> None:
    old = created(ATTACHMENT, an_attachment())
    assert update(ATTACHMENT_BEFORE, old, patch) == complaints


def test_what_was_not_changed_is_not_shown_since_1_37() -> None:
    old = created(ATTACHMENT, an_attachment())
    complaints = update(ATTACHMENT, old, {"spec": {"nodeName": "another"}})
    assert complaints == ["spec: Invalid value: null: field is immutable"]


def test_a_missing_attacher_is_told_once_and_last_since_1_37() -> None:
    doc = an_attachment()
    doc["spec"] |= {"attacher": "", "nodeName": "Not a name"}
    fields = [complaint.partition(":")[0] for complaint in create(ATTACHMENT, doc)]
    assert fields == ["spec.nodeName", "spec.attacher"]
    before = [complaint.partition(":")[0] for complaint in create(ATTACHMENT_BEFORE, doc)]
    assert before == ["spec.attacher", "spec.nodeName"]


def test_the_main_path_cannot_touch_status() -> None:
    old = created(ATTACHMENT, an_attachment())
    assert updated(ATTACHMENT, old, merged(old, {"status": {"attached": True}}))["status"] == {
        "attached": False
    }


def test_the_status_path_sets_attached_and_nothing_else() -> None:
    old = created(ATTACHMENT, an_attachment())
    patch = {"status": {"attached": True}, "spec": {"nodeName": "n2"}}
    new = status_updated(ATTACHMENT, old, merged(old, patch))
    assert new["status"] == {"attached": True}
    assert new["spec"] == old["spec"]


def test_a_status_that_does_not_say_is_not_attached() -> None:
    old = created(ATTACHMENT, an_attachment())
    assert status_updated(ATTACHMENT, old, merged(old, {"status": None}))["status"] == {
        "attached": False
    }


STATUS: dict[str, tuple[Doc, list[str]]] = {
    "1024 bytes of error are fine": ({"attachError": {"message": "e" * 1024}}, []),
    "one more is too long": (
        {"attachError": {"message": "e" * 1025}, "detachError": {"message": "é" * 600}},
        [
            "status.attachError.message: Too long: may not be more than 262144 bytes",
            "status.detachError.message: Too long: may not be more than 262144 bytes",
        ],
    ),
    "an error's code is not negative": (
        {"attachError": {"errorCode": -1}},
        [
            "status.attachError.errorCode: Invalid value: -1: "
            "must be between 0 and 2147483647, inclusive"
        ],
    ),
    "what the driver tells is small": (
        {"attachmentMetadata": {"a": "b" * 262144}},
        ["status.attachmentMetadata: Too long: may not be more than 262144 bytes"],
    ),
}


@pytest.mark.parametrize(("status", "complaints"), STATUS.values(), ids=STATUS)
def test_status(status: Doc, complaints: list[str]) -> None:
    old = created(ATTACHMENT, an_attachment())
    assert update_status(ATTACHMENT_BEFORE, old, {"status": status}) == complaints


def test_the_real_limit_of_messages_is_told_since_1_37() -> None:
    old = created(ATTACHMENT, an_attachment())
    error = {"attachError": {"message": "x" * 1025}}
    assert update_status(ATTACHMENT, old, {"status": error}) == [
        "status.attachError.message: Too long: may not be more than 1024 bytes"
    ]


def test_a_row() -> None:
    assert printed(ATTACHMENT, {**an_attachment(), "status": {"attached": True}}) == {
        "Name": "csi-1",
        "Attacher": "hostpath.csi.k8s.io",
        "PV": "pv-1",
        "Node": "n1",
        "Attached": True,
        "Age": "27h",
    }


def test_an_inline_volume_has_no_name_to_print() -> None:
    doc = created(ATTACHMENT, an_attachment(source={"inlineVolumeSpec": INLINE}))
    assert printed(ATTACHMENT, doc)["PV"] == ""
