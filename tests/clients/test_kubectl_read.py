"""kubectl get in its many forms, describe, events, explain, discovery."""

import json

import pytest

from tests.clients.kubectl import Kubectl, kubectls
from tests.clients.manifests import (
    a_claim,
    a_config_map,
    a_pod,
    a_volume,
    an_event,
    one_of_each,
)

PLURALS = tuple(one_of_each("x"))


def in_order(text: str, *wanted: str) -> bool:
    """These words are in the text, one after the other."""
    at = 0
    for word in wanted:
        at = text.find(word, at)
        if at < 0:
            return False
        at += len(word)
    return True


def rows(table: str) -> list[list[str]]:
    return [line.split() for line in table.splitlines()]


@kubectls()
def test_every_kind_is_created_got_and_described(kubectl: Kubectl, unique: str) -> None:
    name = f"{unique}-x"
    documents = one_of_each(name)
    kubectl("create", "-f", "-", given=list(documents.values()))
    objects = [f"{plural}/{name}" for plural in documents]

    table = kubectl("get", *objects, "--no-headers")
    assert [row[0].split("/")[-1] for row in rows(table) if row] == [name] * len(objects)
    found = kubectl.doc(*objects)["items"]
    assert [doc["kind"] for doc in found] == [doc["kind"] for doc in documents.values()]
    if kubectl.version < (1, 34):  # these ask for a version of it that is no longer served
        objects.remove(f"volumeattributesclasses/{name}")
    described = kubectl("describe", *objects).splitlines()
    assert [line.split() for line in described].count(["Name:", name]) >= len(objects)


@kubectls()
def test_describe_tells_of_claims_volumes_pods_and_events(kubectl: Kubectl, unique: str) -> None:
    uses = [{"name": "disk", "persistentVolumeClaim": {"claimName": "data"}}]
    kubectl("create", "-f", "-", given=[a_claim(), a_volume(unique), a_pod("web", volumes=uses)])
    claim, volume = kubectl.doc("pvc", "data"), kubectl.doc("pv", unique)
    about_claim = an_event("e1", claim, kubectl.namespace, "Waiting", "for a volume")
    about_volume = an_event(f"e-{unique}", volume, "default", "Seen", "by nobody")
    kubectl("create", "-f", "-", given=about_claim)
    kubectl.in_namespace("default")("create", "-f", "-", given=about_volume)

    described = kubectl("describe", "pvc", "data")
    assert in_order(described, "Status:", "Pending", "Used By:", "web", "Events:", "Waiting")
    described = kubectl("describe", "pv", unique)
    assert in_order(described, "Driver:", "csi.example.com", "Events:", "Seen", "by nobody")
    described = kubectl("describe", "pod", "web")
    assert in_order(described, "Volumes:", "ClaimName:", "data", "Events:", "<none>")


@kubectls()
def test_describe_of_a_node_counts_its_pods(kubectl: Kubectl, unique: str) -> None:
    kubectl("create", "-f", "-", given=[one_of_each(unique)["nodes"], a_pod("a", nodeName=unique)])

    described = kubectl("describe", "node", unique)

    assert in_order(described, "Non-terminated Pods:", "(1 in total)", kubectl.namespace, "a")


@kubectls()
def test_columns_of_volumes_and_claims(kubectl: Kubectl, unique: str) -> None:
    kubectl("create", "-f", "-", given=[a_claim(), a_volume(unique, "5Gi")])

    header, row = kubectl("get", "pv", unique, "-o", "wide").splitlines()
    assert " ".join(header.split()) == (
        "NAME CAPACITY ACCESS MODES RECLAIM POLICY STATUS CLAIM STORAGECLASS "
        "VOLUMEATTRIBUTESCLASS REASON AGE VOLUMEMODE"
    )
    assert row.split()[:5] == [unique, "5Gi", "RWO", "Retain", "Pending"]
    header, row = kubectl("get", "pvc").splitlines()
    assert " ".join(header.split()) == (
        "NAME STATUS VOLUME CAPACITY ACCESS MODES STORAGECLASS VOLUMEATTRIBUTESCLASS AGE"
    )
    assert row.split()[:3] == ["data", "Pending", "<unset>"]


@kubectls()
def test_output_formats(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=[a_claim("a"), a_claim("b", "2Gi")])
    storage = "{.spec.resources.requests.storage}"

    assert kubectl("get", "pvc", "-o", "name").splitlines() == [
        "persistentvolumeclaim/a",
        "persistentvolumeclaim/b",
    ]
    assert kubectl("get", "pvc", "-o", f"jsonpath={{range .items[*]}}{storage} {{end}}") == (
        "1Gi 2Gi "
    )
    assert kubectl("get", "pvc/b", "-o", "go-template={{.metadata.name}}") == "b"
    columns = "-o=custom-columns=N:.metadata.name,S:.spec.resources.requests.storage,X:.no.such"
    assert rows(kubectl("get", "pvc", columns)) == [
        ["N", "S", "X"],
        ["a", "1Gi", "<none>"],
        ["b", "2Gi", "<none>"],
    ]
    listed = json.loads(kubectl("get", "pvc", "-o", "json"))
    assert [item["kind"] for item in listed["items"]] == ["PersistentVolumeClaim"] * 2
    assert "storage: 2Gi" in kubectl("get", "pvc", "b", "-o", "yaml")


@kubectls()
def test_labels_as_columns_and_selectors(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=[a_claim("a"), a_claim("b"), a_claim("c")])
    kubectl("label", "pvc", "a", "team=red")
    kubectl("label", "pvc", "b", "team=blue")

    assert rows(kubectl("get", "pvc", "-L", "team", "--no-headers"))[0][-1] == "red"
    assert rows(kubectl("get", "pvc", "b", "--show-labels", "--no-headers"))[0][-1] == "team=blue"
    for selector, names in {
        "team=red": "a",
        "team!=red": "b c",
        "team": "a b",
        "!team": "c",
        "team in (red, blue)": "a b",
        "team notin (red)": "b c",
    }.items():
        found = kubectl("get", "pvc", "-l", selector, "-o", "jsonpath={.items[*].metadata.name}")
        assert found == names, selector


@kubectls()
def test_field_selectors(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=[a_claim("a"), a_claim("b"), a_pod("web")])

    names = "jsonpath={.items[*].metadata.name}"
    assert kubectl("get", "pvc", "--field-selector=metadata.name=b", "-o", names) == "b"
    assert kubectl("get", "pvc", "--field-selector=metadata.name!=b", "-o", names) == "a"
    assert kubectl("get", "pod", "--field-selector=status.phase=Pending", "-o", names) == "web"
    complaint = kubectl.refused("get", "pvc", "--field-selector=spec.volumeName=x")
    assert '"spec.volumeName" is not a known field selector' in complaint


@kubectls()
def test_sorting_by_a_field(kubectl: Kubectl) -> None:
    sizes = {"a": "3Gi", "b": "1Gi", "c": "2Gi"}
    kubectl("create", "-f", "-", given=[a_claim(name, size) for name, size in sizes.items()])

    table = kubectl("get", "pvc", "--sort-by=.spec.resources.requests.storage", "--no-headers")

    assert [row[0] for row in rows(table)] == ["b", "c", "a"]


@kubectls()
def test_lists_in_chunks_are_whole(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=[a_config_map(f"m{number}") for number in range(5)])

    ran = kubectl.run("get", "cm", "--chunk-size=2", "-o", "name", "-v=8")

    names = [line for line in ran.out.splitlines() if line.startswith("configmap/")]
    assert names == ["configmap/kube-root-ca.crt", *(f"configmap/m{n}" for n in range(5))]
    assert "limit=2" in ran.err
    assert "continue=" in ran.err


@kubectls()
def test_all_namespaces(kubectl: Kubectl, namespace: str) -> None:
    kubectl("create", "-f", "-", given=a_claim())

    table = rows(kubectl("get", "pvc", "-A"))

    assert table[0][0] == "NAMESPACE"
    assert [namespace, "data"] in [row[:2] for row in table]


@kubectls()
def test_the_category_all_lists_pods(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=a_pod("web"))

    assert rows(kubectl("get", "all", "--no-headers"))[0][0] == "pod/web"


@kubectls()
def test_several_kinds_and_names_at_once(kubectl: Kubectl, unique: str) -> None:
    kubectl("create", "-f", "-", given=[a_claim(), a_volume(unique), a_config_map()])

    found = kubectl("get", "pvc/data", f"pv/{unique}", "cm/settings", "-o", "name")

    assert found.splitlines() == [
        "persistentvolumeclaim/data",
        f"persistentvolume/{unique}",
        "configmap/settings",
    ]


@kubectls()
def test_what_is_not_there(kubectl: Kubectl) -> None:
    ran = kubectl.run("get", "pvc")
    assert ran.code == 0
    assert f"No resources found in {kubectl.namespace} namespace." in ran.err
    assert kubectl.refused("get", "pvc", "ghost") == (
        'Error from server (NotFound): persistentvolumeclaims "ghost" not found'
    )
    assert kubectl("get", "pvc", "ghost", "--ignore-not-found") == ""
    assert 'the server doesn\'t have a resource type "ghosts"' in kubectl.refused("get", "ghosts")


@kubectls()
def test_get_events(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=a_claim())
    claim = kubectl.doc("pvc", "data")
    kubectl(
        "create", "-f", "-", given=an_event("e1", claim, kubectl.namespace, "Waiting", "for a disk")
    )

    table = kubectl("get", "events")
    assert " ".join(table.splitlines()[0].split()) == "LAST SEEN TYPE REASON OBJECT MESSAGE"
    assert in_order(table, "Normal", "Waiting", "persistentvolumeclaim/data", "for a disk")
    assert "e1" in kubectl("get", "events.events.k8s.io", "-o", "name")
    chosen = (
        "--field-selector=involvedObject.name=data,involvedObject.kind=PersistentVolumeClaim",
    )
    assert "e1" in kubectl("get", "events", *chosen, "-o", "name")


@kubectls(since=(1, 26))
def test_events_of_one_object(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=[a_claim("a"), a_claim("b")])
    for name in "ab":
        claim = kubectl.doc("pvc", name)
        kubectl("create", "-f", "-", given=an_event(name, claim, kubectl.namespace, "Seen", name))

    table = rows(kubectl("events", "--for=pvc/a", "--no-headers"))

    assert [row[-2:] for row in table] == [["PersistentVolumeClaim/a", "a"]]


EXPLAINED = (
    ("pvc", ("KIND:", "PersistentVolumeClaim", "VERSION:", "v1", "spec", "status")),
    ("pv.spec.csi", ("driver", "volumeHandle")),
    ("sc", ("StorageClass", "parameters", "provisioner", "volumeBindingMode")),
    ("volumesnapshot.spec", ("source", "volumeSnapshotClassName")),
    ("pod.spec.volumes.persistentVolumeClaim", ("claimName", "readOnly")),
    ("cm.data", ("data", "map[string]string")),
    ("volumeattachment.spec", ("attacher", "nodeName", "source")),
)


@kubectls()
def test_explain(kubectl: Kubectl) -> None:
    for path, words in EXPLAINED:
        assert in_order(kubectl("explain", path), *words), path


@kubectls()
@pytest.mark.parametrize("kind", ["pvc", "volumesnapshots"])
def test_explain_goes_all_the_way_down(kubectl: Kubectl, kind: str) -> None:
    explained = kubectl("explain", kind, "--recursive")

    assert in_order(explained, "metadata", "ownerReferences", "uid", "spec", "status")


def test_explain_knows_every_kind(kubectl: Kubectl) -> None:
    for plural in PLURALS:
        assert in_order(kubectl("explain", plural), "KIND:", "apiVersion", "metadata"), plural


@kubectls()
def test_api_resources_lists_every_kind(kubectl: Kubectl) -> None:
    listed = kubectl("api-resources", "--no-headers", "-o", "name").splitlines()

    for plural in PLURALS:
        assert any(name.split(".")[0] == plural for name in listed), plural
    cluster_wide = kubectl("api-resources", "--namespaced=false", "-o", "name").splitlines()
    assert "persistentvolumes" in cluster_wide
    assert "persistentvolumeclaims" not in cluster_wide


@kubectls()
def test_api_versions(kubectl: Kubectl) -> None:
    versions = set(kubectl("api-versions").splitlines())

    assert {"v1", "storage.k8s.io/v1", "snapshot.storage.k8s.io/v1"} <= versions


def test_short_names(kubectl: Kubectl) -> None:
    for short in ("pv", "pvc", "sc", "vac", "cm", "ns", "no", "po", "sa", "ev", "vs", "vgs"):
        kubectl("get", short)
