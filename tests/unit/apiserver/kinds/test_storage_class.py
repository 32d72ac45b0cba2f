import pytest

from mooring.apiserver.kinds.storage_class import STORAGE_CLASS, STORAGE_CLASS_BEFORE, is_default
from mooring.model.document import Doc
from tests.unit.apiserver.kinds.writing import (
    BEFORE,
    NO_KEY,
    create,
    created,
    merged,
    printed,
    update,
    warned,
)


def a_class(**fields: object) -> Doc:
    return {
        "kind": "StorageClass",
        "apiVersion": "storage.k8s.io/v1",
        "metadata": {"name": "fast", "creationTimestamp": BEFORE},
        "provisioner": "hostpath.csi.k8s.io",
        **fields,
    }


def topology(*terms: dict[str, list[str]]) -> Doc:
    return {
        "allowedTopologies": [
            {"matchLabelExpressions": [{"key": k, "values": v} for k, v in term.items()]}
            for term in terms
        ]
    }


AT = "allowedTopologies[0].matchLabelExpressions"

CREATED: dict[str, tuple[Doc, list[str]]] = {
    "a class is fine": ({}, []),
    "a provisioner is required": ({"provisioner": ""}, ["provisioner: Required value"]),
    "an absent provisioner is missed": ({"provisioner": None}, ["provisioner: Required value"]),
    "a provisioner may be written in capitals": ({"provisioner": "Example.COM/Disk"}, []),
    "a provisioner is a qualified name": (
        {"provisioner": "Not A Key"},
        [f'provisioner: Invalid value: "not a key": {NO_KEY}'],
    ),
    "recycling is not for classes": (
        {"reclaimPolicy": "Recycle"},
        ['reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"'],
    ),
    "an unknown binding mode is named": (
        {"volumeBindingMode": "Never"},
        [
            'volumeBindingMode: Unsupported value: "Never": '
            'supported values: "Immediate", "WaitForFirstConsumer"'
        ],
    ),
    "parameters have keys": (
        {"parameters": {"": "a"}},
        ['parameters: Invalid value: "": field can not be empty.'],
    ),
    "zones are fine": (topology({"zone": ["a", "b"]}, {"zone": ["c"]}), []),
    "a topology has values": (
        topology({"zone": []}),
        [f"{AT}[0].values: Required value"],
    ),
    "a topology's values differ": (
        topology({"zone": ["a", "a"]}),
        [f'{AT}[0].values[1]: Duplicate value: "a"'],
    ),
    "a topology's key is a label key": (
        topology({"not a key": ["a"]}),
        [f'{AT}[0].key: Invalid value: "not a key": {NO_KEY}'],
    ),
    "a key stands once in a term": (
        {
            "allowedTopologies": [
                {
                    "matchLabelExpressions": [
                        {"key": "zone", "values": ["a"]},
                        {"key": "zone", "values": ["b"]},
                    ]
                }
            ]
        },
        [f'{AT}[1].key: Duplicate value: "zone"'],
    ),
    "a term stands once, in whatever order": (
        topology({"zone": ["a", "b"], "rack": ["1"]}, {"rack": ["1"], "zone": ["b", "a"]}),
        ['allowedTopologies[1].matchLabelExpressions: Duplicate value: ""'],
    ),
    "a term says something": (topology({}), [f'{AT}: Duplicate value: ""']),
}


@pytest.mark.parametrize(("patch", "complaints"), CREATED.values(), ids=CREATED)
def test_create(patch: Doc, complaints: list[str]) -> None:
    assert create(STORAGE_CLASS, merged(a_class(), patch)) == complaints


def test_a_class_deletes_and_binds_at_once_unless_it_says_otherwise() -> None:
    new = created(STORAGE_CLASS, a_class())
    assert (new["reclaimPolicy"], new["volumeBindingMode"]) == ("Delete", "Immediate")
    kept = created(
        STORAGE_CLASS, a_class(reclaimPolicy="Retain", volumeBindingMode="WaitForFirstConsumer")
    )
    assert (kept["reclaimPolicy"], kept["volumeBindingMode"]) == ("Retain", "WaitForFirstConsumer")


UPDATED: dict[str, tuple[Doc, list[str]]] = {
    "nothing changed is fine": ({}, []),
    "expansion may be allowed": ({"allowVolumeExpansion": True}, []),
    "mount options may change": ({"mountOptions": ["ro"]}, []),
    "topologies may change": (topology({"zone": ["a"]}), []),
    "empty parameters are no change": ({"parameters": {}}, []),
    "parameters may not change": (
        {"parameters": {"a": "b"}},
        ["parameters: Forbidden: updates to parameters are forbidden."],
    ),
    "the provisioner may not change": (
        {"provisioner": "other"},
        ["provisioner: Forbidden: updates to provisioner are forbidden."],
    ),
    "the reclaim policy may not change": (
        {"reclaimPolicy": "Retain"},
        ["reclaimPolicy: Forbidden: updates to reclaimPolicy are forbidden."],
    ),
    "the binding mode may not change": (
        {"volumeBindingMode": "WaitForFirstConsumer"},
        ['volumeBindingMode: Invalid value: "WaitForFirstConsumer": field is immutable'],
    ),
    "a policy left out is the default one": ({"reclaimPolicy": None}, []),
}


@pytest.mark.parametrize(("patch", "complaints"), UPDATED.values(), ids=UPDATED)
def test_update(patch: Doc, complaints: list[str]) -> None:
    assert update(STORAGE_CLASS_BEFORE, created(STORAGE_CLASS, a_class()), patch) == complaints


def test_a_label_with_a_successor_is_warned_of() -> None:
    old = "failure-domain.beta.kubernetes.io/zone"
    assert warned(STORAGE_CLASS, a_class(**topology({old: ["a"]}))) == [
        f'{AT}[0].key: deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
    ]


DEFAULT: dict[str, tuple[dict[str, str], bool]] = {
    "no annotation": ({}, False),
    "the annotation": ({"storageclass.kubernetes.io/is-default-class": "true"}, True),
    "the old annotation": ({"storageclass.beta.kubernetes.io/is-default-class": "true"}, True),
    "the annotation says no": ({"storageclass.kubernetes.io/is-default-class": "false"}, False),
    "nothing but true counts": ({"storageclass.kubernetes.io/is-default-class": "True"}, False),
}


@pytest.mark.parametrize(("annotations", "default"), DEFAULT.values(), ids=DEFAULT)
def test_the_default_class(annotations: dict[str, str], *, default: bool) -> None:
    doc = merged(created(STORAGE_CLASS, a_class()), {"metadata": {"annotations": annotations}})
    assert is_default(doc) is default
    assert printed(STORAGE_CLASS_BEFORE, doc)["Name"] == ("fast (default)" if default else "fast")
    assert printed(STORAGE_CLASS, doc)["Name"] == "fast"


def test_a_row() -> None:
    doc = created(STORAGE_CLASS, a_class(allowVolumeExpansion=True))
    assert printed(STORAGE_CLASS, doc) == {
        "Name": "fast",
        "Provisioner": "hostpath.csi.k8s.io",
        "ReclaimPolicy": "Delete",
        "VolumeBindingMode": "Immediate",
        "AllowVolumeExpansion": True,
        "Age": "27h",
    }


def test_a_class_that_does_not_say_does_not_expand() -> None:
    assert printed(STORAGE_CLASS, a_class())["AllowVolumeExpansion"] is False


class Compared(str):
    """Counts how often it is compared."""

    __slots__ = ()
    times = 0

    def __eq__(self, other: object) -> bool:
        Compared.times += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_thousands_of_topology_values_are_not_each_compared_with_all_others() -> None:
    values: list[str] = [Compared(f"zone-{number}") for number in range(2000)]
    terms = [{"zone": [value]} for value in values]
    doc = a_class(reclaimPolicy="Delete", volumeBindingMode="Immediate")
    doc |= topology({"zone": values}, *terms)
    assert not list(STORAGE_CLASS.validate(doc))
    assert Compared.times < 20_000
