"""kubectl apply: client side, server side, and from one to the other."""

import json

from tests.clients.kubectl import Kubectl, kubectls
from tests.clients.manifests import (
    STORAGE,
    Doc,
    a_claim,
    a_class,
    a_config_map,
    a_node,
    a_pod,
    a_snapshot,
    a_volume,
)

CLIENT_SIDE = "kubectl.kubernetes.io/last-applied-configuration"


def labelled(doc: Doc, **labels: str) -> Doc:
    return doc | {"metadata": doc["metadata"] | {"labels": labels}}


def managers(doc: Doc) -> set[tuple[str, str]]:
    return {(entry["manager"], entry["operation"]) for entry in doc["metadata"]["managedFields"]}


def with_managed_fields(kubectl: Kubectl, *arguments: str) -> Doc:
    show = ["--show-managed-fields"] if kubectl.version >= (1, 21) else []
    return kubectl.doc(*arguments, *show)


@kubectls()
def test_the_second_apply_changes_nothing(kubectl: Kubectl, unique: str) -> None:
    wanted = [a_claim(), a_volume(unique), a_class(unique), a_snapshot("monday"), a_pod("web")]

    first = kubectl("apply", "-f", "-", given=wanted)
    before = kubectl.doc("pvc,vs,pod")
    second = kubectl("apply", "-f", "-", given=wanted)

    assert [line.split()[1] for line in first.splitlines()] == ["created"] * 5
    assert [line.split()[1] for line in second.splitlines()] == ["unchanged"] * 5
    assert kubectl.doc("pvc,vs,pod")["items"] == before["items"]


@kubectls()
def test_apply_changes_adds_and_removes_fields(kubectl: Kubectl) -> None:
    before = labelled(a_config_map(colour="blue", size="1"), team="a", tier="slow")
    after = labelled(a_config_map(colour="red", shape="round"), team="b")
    kubectl("apply", "-f", "-", given=before)
    kubectl("label", "cm", "settings", "by-hand=yes")

    said = kubectl("apply", "-f", "-", given=after)

    assert said == "configmap/settings configured"
    stored = kubectl.doc("cm", "settings")
    assert stored["data"] == {"colour": "red", "shape": "round"}
    assert stored["metadata"]["labels"] == {"by-hand": "yes", "team": "b"}


@kubectls()
def test_a_growing_claim_needs_to_be_bound(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=a_claim(size="1Gi"))

    complaint = kubectl.refused("apply", "-f", "-", given=a_claim(size="2Gi"))

    assert "spec is immutable after creation except resources.requests" in complaint


@kubectls()
def test_another_spelling_of_the_same_size_is_no_change(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=a_claim(size="1024Mi"))

    assert kubectl.field(".spec.resources.requests.storage", "pvc", "data") == "1Gi"
    kubectl("apply", "-f", "-", given=a_claim(size="1024Mi"))
    kubectl("apply", "-f", "-", given=a_claim(size="1Gi"))


@kubectls()
def test_apply_drops_one_item_of_a_merged_list(kubectl: Kubectl, unique: str) -> None:
    """Its removal travels as `$patch: delete`, and what another client added stays."""
    drivers = [{"name": f"{name}.example.com", "nodeID": "n"} for name in "abc"]
    node = {"apiVersion": STORAGE, "kind": "CSINode", "metadata": {"name": unique}}
    kubectl("apply", "-f", "-", given=node | {"spec": {"drivers": drivers[:2]}})
    added = json.dumps({"spec": {"drivers": drivers[2:]}})
    kubectl("patch", "csinode", unique, f"-p={added}")

    kubectl("apply", "-f", "-", given=node | {"spec": {"drivers": drivers[:1]}})

    left = kubectl.doc("csinode", unique)["spec"]["drivers"]
    assert {driver["name"] for driver in left} == {"a.example.com", "c.example.com"}


@kubectls()
def test_apply_replaces_an_atomic_list(kubectl: Kubectl, unique: str) -> None:
    wanted = a_node(unique)
    taints = [{"key": "a", "effect": "NoSchedule"}, {"key": "b", "effect": "NoSchedule"}]
    kubectl("apply", "-f", "-", given=wanted | {"spec": {"taints": taints}})

    kubectl("apply", "-f", "-", given=wanted | {"spec": {"taints": taints[:1]}})

    assert kubectl.doc("node", unique)["spec"]["taints"] == taints[:1]


@kubectls()
def test_apply_takes_over_what_create_made(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=a_config_map(colour="blue"))

    ran = kubectl.run("apply", "-f", "-", given=a_config_map(colour="red"))

    assert ran.code == 0
    assert "missing the kubectl.kubernetes.io/last-applied-configuration annotation" in ran.err
    assert kubectl.field(".data.colour", "cm", "settings") == "red"


@kubectls()
def test_custom_kinds_are_applied_by_merge_patch(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=labelled(a_snapshot("monday"), team="a"))

    kubectl("apply", "-f", "-", given=labelled(a_snapshot("monday"), team="b"))

    assert kubectl.doc("vs", "monday")["metadata"]["labels"] == {"team": "b"}


@kubectls()
def test_last_applied_shows_what_was_given(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=a_config_map(colour="blue"))

    shown = json.loads(kubectl("apply", "view-last-applied", "cm", "settings", "-o", "json"))

    assert shown["data"] == {"colour": "blue"}


@kubectls()
def test_apply_by_force_recreates_what_cannot_be_changed(kubectl: Kubectl, unique: str) -> None:
    kubectl("apply", "-f", "-", given=a_class(unique, parameters={"tier": "slow"}))

    said = kubectl(
        "apply", "--force", "-f", "-", given=a_class(unique, parameters={"tier": "fast"})
    )

    assert said == f"storageclass.storage.k8s.io/{unique} configured"
    assert kubectl.field(".parameters.tier", "sc", unique) == "fast"


@kubectls()
def test_server_side_apply_owns_what_it_sets(kubectl: Kubectl) -> None:
    said = kubectl("apply", "--server-side", "-f", "-", given=a_config_map(colour="blue", size="1"))

    assert said == "configmap/settings serverside-applied"
    stored = with_managed_fields(kubectl, "cm", "settings")
    assert managers(stored) == {("kubectl", "Apply")}
    assert CLIENT_SIDE not in stored["metadata"].get("annotations", {})

    kubectl("apply", "--server-side", "-f", "-", given=a_config_map(colour="blue"))
    assert kubectl.doc("cm", "settings")["data"] == {"colour": "blue"}


@kubectls()
def test_the_second_server_side_apply_changes_nothing(kubectl: Kubectl, unique: str) -> None:
    wanted = [a_claim(), a_volume(unique), a_class(unique), a_snapshot("monday"), a_pod("web")]
    kubectl("apply", "--server-side", "-f", "-", given=wanted)
    before = kubectl.doc("pvc,vs,pod")

    kubectl("apply", "--server-side", "-f", "-", given=wanted)

    assert kubectl.doc("pvc,vs,pod")["items"] == before["items"]


@kubectls()
def test_two_managers_conflict_until_one_is_forced(kubectl: Kubectl) -> None:
    apply = ("apply", "--server-side", "-f", "-")
    kubectl(*apply, "--field-manager=first", given=a_config_map(colour="blue"))

    complaint = kubectl.refused(*apply, "--field-manager=second", given=a_config_map(colour="red"))
    assert 'Apply failed with 1 conflict: conflict with "first": .data.colour' in complaint

    kubectl(*apply, "--field-manager=second", "--force-conflicts", given=a_config_map(colour="red"))
    assert kubectl.field(".data.colour", "cm", "settings") == "red"
    complaint = kubectl.refused(*apply, "--field-manager=first", given=a_config_map(colour="blue"))
    assert 'conflict with "second": .data.colour' in complaint


@kubectls()
def test_managers_share_what_they_agree_on(kubectl: Kubectl) -> None:
    apply = ("apply", "--server-side", "-f", "-")
    kubectl(*apply, "--field-manager=first", given=a_config_map(colour="blue", size="1"))
    kubectl(*apply, "--field-manager=second", given=a_config_map(colour="blue"))

    kubectl(*apply, "--field-manager=first", given=a_config_map())

    assert kubectl.doc("cm", "settings")["data"] == {"colour": "blue"}


@kubectls()
def test_a_patch_by_hand_conflicts_with_a_later_apply(kubectl: Kubectl) -> None:
    kubectl("apply", "--server-side", "-f", "-", given=a_config_map(colour="blue"))
    kubectl("patch", "cm", "settings", "--type=merge", '-p={"data":{"colour":"green"}}')

    complaint = kubectl.refused(
        "apply", "--server-side", "-f", "-", given=a_config_map(colour="blue")
    )

    assert 'conflict with "kubectl-patch" using v1: .data.colour' in complaint


@kubectls(since=(1, 26))
def test_from_client_side_to_server_side(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=a_config_map(colour="blue", size="1"))

    kubectl("apply", "--server-side", "-f", "-", given=a_config_map(colour="blue", size="1"))
    stored = with_managed_fields(kubectl, "cm", "settings")
    assert ("kubectl", "Apply") in managers(stored)
    assert ("kubectl-client-side-apply", "Update") not in managers(stored)

    kubectl("apply", "--server-side", "-f", "-", given=a_config_map(colour="red"))
    assert kubectl.doc("cm", "settings")["data"] == {"colour": "red"}


@kubectls(since=(1, 26))
def test_and_back_to_client_side(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=a_config_map(colour="blue", size="1"))
    kubectl("apply", "--server-side", "-f", "-", given=a_config_map(colour="red", size="1"))

    kubectl("apply", "-f", "-", given=a_config_map(colour="red"))

    assert kubectl.doc("cm", "settings")["data"] == {"colour": "red"}


@kubectls()
def test_an_unknown_field_cannot_be_applied_on_the_server(kubectl: Kubectl) -> None:
    complaint = kubectl.refused(
        "apply", "--server-side", "--validate=false", "-f", "-", given=a_claim(storageClas="x")
    )

    assert ".spec.storageClas: field not declared in schema" in complaint


@kubectls(since=(1, 27))
def test_pruning_removes_what_is_no_longer_in_the_files(kubectl: Kubectl) -> None:
    kept, dropped = a_config_map("kept", colour="blue"), a_config_map("dropped", colour="red")
    prune = ("apply", "--prune", "-l", "set=one", "--prune-allowlist=core/v1/ConfigMap", "-f", "-")
    kubectl(*prune, given=[labelled(kept, set="one"), labelled(dropped, set="one")])

    said = kubectl(*prune, given=labelled(kept, set="one"))

    assert "configmap/dropped pruned" in said
    assert kubectl("get", "cm", "-l", "set=one", "-o", "name") == "configmap/kept"
