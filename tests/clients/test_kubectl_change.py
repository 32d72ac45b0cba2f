"""kubectl edit, patch, label, annotate, replace, taint, cordon."""

import json
import re
from pathlib import Path

from tests.clients.kubectl import Kubectl, kubectls
from tests.clients.manifests import (
    STORAGE,
    a_claim,
    a_config_map,
    a_node,
    a_pod,
    a_snapshot,
    a_volume,
)


def an_editor(directory: Path, *commands: str) -> str:
    """A program that does with sed what a person would do in an editor."""
    script = directory / "editor"
    steps = " ".join(f"-e '{command}'" for command in commands)
    script.write_text(f'#!/bin/sh\nexec sed -i {steps} "$1"\n')
    script.chmod(0o755)
    return str(script)


@kubectls()
def test_edit_changes_what_the_editor_changed(kubectl: Kubectl, tmp_path: Path) -> None:
    kubectl("create", "-f", "-", given=a_config_map(colour="blue"))

    said = kubectl("edit", "cm", "settings", EDITOR=an_editor(tmp_path, "s/blue/red/"))

    assert said == "configmap/settings edited"
    assert kubectl.field(".data.colour", "cm", "settings") == "red"


@kubectls()
def test_edit_of_a_claim_and_a_custom_kind(kubectl: Kubectl, tmp_path: Path) -> None:
    kubectl("create", "-f", "-", given=[a_claim(), a_snapshot("monday")])
    editor = an_editor(tmp_path, "/^metadata:/a \\  labels: {team: a}")

    kubectl("edit", "pvc", "data", EDITOR=editor)
    kubectl("edit", "vs", "monday", EDITOR=editor)

    assert kubectl.field(".metadata.labels.team", "pvc", "data") == "a"
    assert kubectl.field(".metadata.labels.team", "vs", "monday") == "a"


@kubectls()
def test_edit_without_a_change_is_cancelled(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=a_config_map(colour="blue"))

    ran = kubectl.run("edit", "cm", "settings", EDITOR="true")

    assert ran.code == 0
    assert "Edit cancelled, no changes made" in ran.err


@kubectls()
def test_edit_that_the_server_refuses_is_kept_with_the_reason(
    kubectl: Kubectl, tmp_path: Path
) -> None:
    kubectl("create", "-f", "-", given=a_claim())
    editor = an_editor(tmp_path, "s/1Gi/2Gi/")

    ran = kubectl.run("edit", "pvc", "data", EDITOR=editor, TMPDIR=str(tmp_path))

    assert ran.code != 0
    assert 'error: persistentvolumeclaims "data" is invalid' in ran.err
    kept = re.search(r'has been stored to "(.+)"', ran.err)
    assert kept is not None
    assert "# * spec: Forbidden: spec is immutable after creation" in Path(kept[1]).read_text()
    assert kubectl.field(".spec.resources.requests.storage", "pvc", "data") == "1Gi"


@kubectls()
def test_a_strategic_patch_merges_lists_by_key(kubectl: Kubectl, unique: str) -> None:
    node = {"apiVersion": STORAGE, "kind": "CSINode", "metadata": {"name": unique}}
    first, second = ({"name": f"{n}.example.com", "nodeID": "n"} for n in "ab")
    kubectl("create", "-f", "-", given=node | {"spec": {"drivers": [first]}})

    added = json.dumps({"spec": {"drivers": [second]}})
    said = kubectl("patch", "csinode", unique, "--type=strategic", f"-p={added}")

    assert said == f"csinode.storage.k8s.io/{unique} patched"
    drivers = kubectl.doc("csinode", unique)["spec"]["drivers"]
    assert [driver["name"] for driver in drivers] == ["b.example.com", "a.example.com"]


@kubectls()
def test_a_merge_patch_removes_with_null(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=a_config_map(colour="blue", size="1"))

    kubectl("patch", "cm", "settings", "--type=merge", '-p={"data":{"size":null,"shape":"round"}}')

    assert kubectl.doc("cm", "settings")["data"] == {"colour": "blue", "shape": "round"}


@kubectls()
def test_a_json_patch_tests_before_it_replaces(kubectl: Kubectl, unique: str) -> None:
    kubectl("create", "-f", "-", given=a_volume(unique))
    path = "/spec/persistentVolumeReclaimPolicy"
    replace = {"op": "replace", "path": path, "value": "Delete"}
    patch = ("patch", "pv", unique, "--type=json", "-p")

    kubectl(*patch, json.dumps([{"op": "test", "path": path, "value": "Retain"}, replace]))
    assert kubectl.field(".spec.persistentVolumeReclaimPolicy", "pv", unique) == "Delete"

    complaint = kubectl.refused(
        *patch, json.dumps([{"op": "test", "path": path, "value": "Retain"}, replace])
    )
    assert "The request is invalid" in complaint


@kubectls()
def test_a_patch_without_effect_says_so(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=a_config_map(colour="blue"))

    said = kubectl("patch", "cm", "settings", "--type=merge", '-p={"data":{"colour":"blue"}}')

    assert said == "configmap/settings patched (no change)"


@kubectls()
def test_a_strategic_patch_of_a_custom_kind_is_refused(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=a_snapshot("monday"))

    kubectl.refused("patch", "vs", "monday", '-p={"metadata":{"labels":{"a":"b"}}}')
    kubectl("patch", "vs", "monday", "--type=merge", '-p={"metadata":{"labels":{"a":"b"}}}')

    assert kubectl.field(".metadata.labels.a", "vs", "monday") == "b"


@kubectls(since=(1, 24))
def test_status_is_patched_apart_from_the_rest(kubectl: Kubectl, unique: str) -> None:
    kubectl("create", "-f", "-", given=[a_claim(), a_volume(unique)])
    bound = '{"status":{"phase":"Bound"},"spec":{"volumeName":"nope"}}'

    kubectl("patch", "pvc", "data", "--type=merge", f"-p={bound}", "--subresource=status")
    kubectl("patch", "pv", unique, f"-p={bound}", "--subresource=status")

    claim = kubectl.doc("pvc", "data")
    assert claim["status"]["phase"] == "Bound"
    assert "volumeName" not in claim["spec"]
    assert kubectl.field(".status.phase", "pv", unique, "--subresource=status") == "Bound"
    kubectl("patch", "pvc", "data", '-p={"status":{"phase":"Lost"}}')
    assert kubectl.field(".status.phase", "pvc", "data") == "Bound"


@kubectls(since=(1, 24))
def test_status_of_a_custom_kind_is_patched(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=a_snapshot("monday"))

    ready = '{"status":{"readyToUse":true,"restoreSize":"1Gi"}}'
    kubectl("patch", "vs", "monday", "--type=merge", f"-p={ready}", "--subresource=status")

    columns = kubectl("get", "vs", "monday", "--no-headers").split()
    assert columns[:4] == ["monday", "true", "data", "1Gi"]


@kubectls()
def test_labels_are_set_changed_and_removed(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=[a_claim("a"), a_claim("b")])

    assert kubectl("label", "pvc", "a", "team=red") == "persistentvolumeclaim/a labeled"
    kubectl("label", "pvc", "--all", "tier=slow")
    complaint = kubectl.refused("label", "pvc", "a", "team=blue")
    assert "'team' already has a value (red)" in complaint
    kubectl("label", "pvc", "a", "team=blue", "--overwrite")
    kubectl("label", "pvc", "b", "tier-")

    assert kubectl.doc("pvc", "a")["metadata"]["labels"] == {"team": "blue", "tier": "slow"}
    assert "labels" not in kubectl.doc("pvc", "b")["metadata"]


@kubectls()
def test_a_label_that_is_none_is_refused(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=a_claim())

    complaint = kubectl.refused("label", "pvc", "data", "team=not a label")

    assert "a valid label must be an empty string or consist of alphanumeric" in complaint


@kubectls()
def test_annotations_are_set_and_removed(kubectl: Kubectl, unique: str) -> None:
    kubectl("create", "-f", "-", given=a_volume(unique))

    kubectl("annotate", "pv", unique, "example.com/note=any text, even with = and ,")
    assert kubectl.doc("pv", unique)["metadata"]["annotations"] == {
        "example.com/note": "any text, even with = and ,"
    }
    kubectl("annotate", "pv", unique, "example.com/note-")
    assert "annotations" not in kubectl.doc("pv", unique)["metadata"]


@kubectls()
def test_replace_puts_the_whole_object(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=a_config_map(colour="blue", size="1"))

    said = kubectl("replace", "-f", "-", given=a_config_map(shape="round"))

    assert said == "configmap/settings replaced"
    assert kubectl.doc("cm", "settings")["data"] == {"shape": "round"}


@kubectls()
def test_replace_with_a_stale_version_is_a_conflict(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=a_config_map(colour="blue"))
    stale = kubectl.doc("cm", "settings")
    kubectl("label", "cm", "settings", "a=b")

    complaint = kubectl.refused("replace", "-f", "-", given=stale)

    assert (
        'Operation cannot be fulfilled on configmaps "settings": the object has been modified; '
        "please apply your changes to the latest version and try again" in complaint
    )


@kubectls()
def test_replace_of_what_is_not_there_fails(kubectl: Kubectl) -> None:
    complaint = kubectl.refused("replace", "-f", "-", given=a_claim("ghost"))

    assert 'persistentvolumeclaims "ghost" not found' in complaint


@kubectls()
def test_replace_by_force_makes_a_new_object(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=a_pod("web"))
    before = kubectl.field(".metadata.uid", "pod", "web")

    said = kubectl("replace", "--force", "-f", "-", given=a_pod("web", hostname="other"))

    assert said.splitlines()[-1] == "pod/web replaced"
    after = kubectl.doc("pod", "web")
    assert after["metadata"]["uid"] != before
    assert after["spec"]["hostname"] == "other"


@kubectls()
def test_a_node_is_tainted_and_cordoned(kubectl: Kubectl, unique: str) -> None:
    kubectl("create", "-f", "-", given=a_node(unique))

    assert kubectl("taint", "node", unique, "disk=slow:NoSchedule") == f"node/{unique} tainted"
    assert kubectl("cordon", unique) == f"node/{unique} cordoned"

    node = kubectl.doc("node", unique)
    assert {"key": "disk", "value": "slow", "effect": "NoSchedule"} in node["spec"]["taints"]
    assert node["spec"]["unschedulable"] is True
    assert "SchedulingDisabled" in kubectl("get", "node", unique, "--no-headers")

    kubectl("taint", "node", unique, "disk-")
    kubectl("uncordon", unique)
    spec = kubectl.doc("node", unique).get("spec", {})
    assert all(taint["key"] != "disk" for taint in spec.get("taints", ()))
    assert "unschedulable" not in spec


@kubectls()
def test_a_node_is_drained(kubectl: Kubectl, unique: str) -> None:
    pods = [a_pod("mine", nodeName=unique), a_pod("other", nodeName=f"{unique}-other")]
    kubectl("create", "-f", "-", given=[a_node(unique), *pods])

    kubectl("drain", unique, "--force", "--grace-period=0", "--timeout=10s")

    assert kubectl("get", "pods", "-o", "name") == "pod/other"


@kubectls(since=(1, 24))
def test_a_bound_claim_grows_when_its_class_allows(kubectl: Kubectl, unique: str) -> None:
    kubectl(
        "create",
        "-f",
        "-",
        given=[
            {
                "apiVersion": STORAGE,
                "kind": "StorageClass",
                "metadata": {"name": unique},
                "provisioner": "csi.example.com",
                "allowVolumeExpansion": True,
            },
            a_claim(storageClassName=unique, volumeName=unique),
        ],
    )
    bound = '{"status":{"phase":"Bound","capacity":{"storage":"1Gi"}}}'
    kubectl("patch", "pvc", "data", "--type=merge", f"-p={bound}", "--subresource=status")

    grown = '{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}'
    kubectl("patch", "pvc", "data", f"-p={grown}")

    assert kubectl.field(".spec.resources.requests.storage", "pvc", "data") == "2Gi"
