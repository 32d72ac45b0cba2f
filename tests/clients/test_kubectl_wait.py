"""kubectl get -w, wait, and delete: what goes on until something happens."""

import pytest

from tests.clients.kubectl import Kubectl, kubectls
from tests.clients.manifests import Doc, a_claim, a_config_map, a_pod, a_snapshot, a_volume
from tests.fakes.real_server import RealServer

HOLD = "example.com/hold"


def held(doc: Doc) -> Doc:
    return doc | {"metadata": doc["metadata"] | {"finalizers": [HOLD]}}


def release(kubectl: Kubectl, kind: str, name: str) -> None:
    """Take all finalizers off: what controllers do when they are done."""
    kubectl("patch", kind, name, "--type=merge", '-p={"metadata":{"finalizers":null}}')


def set_status(server: RealServer, path: str, **status: object) -> None:
    answer = server.ask(
        "PATCH",
        f"{path}/status",
        {"status": status},
        {"Content-Type": "application/merge-patch+json"},
    )
    assert answer.code == 200, answer.body


def claim_path(kubectl: Kubectl, name: str) -> str:
    return f"/api/v1/namespaces/{kubectl.namespace}/persistentvolumeclaims/{name}"


@kubectls()
def test_a_watch_shows_what_happens(kubectl: Kubectl, server: RealServer) -> None:
    kubectl("create", "-f", "-", given=a_claim("first"))

    with kubectl.running("get", "pvc", "-w") as watching:
        assert "NAME" in watching.line("STATUS")
        assert "Pending" in watching.line("first")
        kubectl("create", "-f", "-", given=held(a_claim("second")))
        assert "Pending" in watching.line("second")
        set_status(server, claim_path(kubectl, "second"), phase="Bound")
        assert "Bound" in watching.line("second")
        kubectl("delete", "pvc", "second", "--wait=false")
        assert "Terminating" in watching.line("second")
        assert watching.is_held()


@kubectls()
def test_a_watch_of_one_name_or_label_shows_no_other(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=[a_config_map("mine"), a_config_map("other")])

    with (
        kubectl.running("get", "cm", "mine", "-w", "-o", "name") as by_name,
        kubectl.running("get", "cm", "-l", "team=a", "-w", "-o", "name") as by_label,
    ):
        by_name.line("configmap/mine")
        kubectl("label", "cm", "other", "team=b")
        kubectl("label", "cm", "mine", "team=a")
        assert by_name.line("configmap/") == "configmap/mine"
        assert by_label.line("configmap/") == "configmap/mine"


@kubectls()
def test_a_watch_of_whole_objects(kubectl: Kubectl, unique: str) -> None:
    kubectl("create", "-f", "-", given=a_volume(unique))
    shown = "-o=jsonpath={.metadata.name} {.spec.persistentVolumeReclaimPolicy}{'\\n'}"

    with kubectl.running("get", "pv", unique, "-w", shown) as watching:
        watching.line(f"{unique} Retain")
        kubectl("patch", "pv", unique, '-p={"spec":{"persistentVolumeReclaimPolicy":"Delete"}}')
        watching.line(f"{unique} Delete")


@kubectls(since=(1, 23))
def test_wait_for_a_phase(kubectl: Kubectl, server: RealServer) -> None:
    kubectl("create", "-f", "-", given=a_claim())

    with kubectl.running("wait", "pvc/data", "--for=jsonpath={.status.phase}=Bound") as waiting:
        assert waiting.is_held()
        set_status(server, claim_path(kubectl, "data"), phase="Bound")
        assert waiting.line("data") == "persistentvolumeclaim/data condition met"
        assert waiting.ends() == 0


@kubectls()
def test_wait_for_a_condition(kubectl: Kubectl, server: RealServer) -> None:
    kubectl("create", "-f", "-", given=a_pod("web"))
    ready = {"type": "Ready", "status": "True"}

    with kubectl.running("wait", "pod/web", "--for=condition=Ready") as waiting:
        assert waiting.is_held()
        set_status(server, f"/api/v1/namespaces/{kubectl.namespace}/pods/web", conditions=[ready])
        assert waiting.line("web") == "pod/web condition met"
        assert waiting.ends() == 0


@kubectls(since=(1, 31))
def test_wait_for_creation(kubectl: Kubectl) -> None:
    with kubectl.running("wait", "cm/late", "--for=create", "--timeout=20s") as waiting:
        assert waiting.is_held()
        kubectl("create", "-f", "-", given=a_config_map("late"))
        assert waiting.line("late") == "configmap/late condition met"
        assert waiting.ends() == 0


@kubectls()
def test_wait_for_deletion(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=held(a_config_map()))
    kubectl("delete", "cm", "settings", "--wait=false")

    with kubectl.running("wait", "cm/settings", "--for=delete", "--timeout=20s") as waiting:
        assert waiting.is_held()
        release(kubectl, "cm", "settings")
        assert waiting.ends() == 0


@kubectls()
def test_wait_gives_up_when_told_to(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=a_pod("web"))

    complaint = kubectl.refused("wait", "pod/web", "--for=condition=Ready", "--timeout=1s")

    assert "timed out waiting for the condition on pods/web" in complaint


@kubectls()
def test_delete_waits_until_the_finalizers_are_gone(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=held(a_claim()))

    with kubectl.running("delete", "pvc", "data") as deleting:
        deleting.line('persistentvolumeclaim "data" deleted')
        assert deleting.is_held()
        assert kubectl.doc("pvc", "data")["metadata"]["deletionGracePeriodSeconds"] == 0
        release(kubectl, "pvc", "data")
        assert deleting.ends() == 0
    assert kubectl("get", "pvc", "-o", "name") == ""


@kubectls()
def test_delete_of_a_custom_kind_waits_too(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=held(a_snapshot("monday")))

    with kubectl.running("delete", "vs", "monday") as deleting:
        deleting.line('"monday" deleted')
        assert deleting.is_held()
        release(kubectl, "vs", "monday")
        assert deleting.ends() == 0


@kubectls()
def test_delete_by_label_and_all_of_a_kind(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=[a_config_map(name) for name in "abc"])
    kubectl("label", "cm", "a", "b", "team=red")

    assert kubectl("delete", "cm", "-l", "team=red").count("deleted") == 2
    assert kubectl("get", "cm", "c", "-o", "name") == "configmap/c"
    kubectl("create", "-f", "-", given=[a_pod(name) for name in "xyz"])
    assert kubectl("delete", "pods", "--all").count("deleted") == 3
    assert kubectl("get", "pods", "-o", "name") == ""


@kubectls()
def test_delete_of_what_a_file_names(kubectl: Kubectl, unique: str) -> None:
    files = [a_config_map(), a_pod("web")]
    kubectl("create", "-f", "-", given=files)

    assert kubectl("delete", "-f", "-", given=files).count("deleted") == 2
    complaint = kubectl.refused("delete", "-f", "-", given=files)
    assert 'configmaps "settings" not found' in complaint
    assert kubectl("delete", "-f", "-", "--ignore-not-found", given=files) == ""


@kubectls()
def test_a_dry_delete_deletes_nothing(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=a_config_map())

    said = kubectl("delete", "cm", "settings", "--dry-run=server")

    assert "deleted" in said
    assert "(server dry run)" in said
    kubectl("get", "cm", "settings")


@kubectls()
def test_a_namespace_goes_with_all_it_holds(kubectl: Kubectl, unique: str) -> None:
    name = f"{unique}-short"
    inside = kubectl.in_namespace(name)
    kubectl("create", "namespace", name)
    inside(
        "create", "-f", "-", given=[a_config_map(), a_claim(), a_pod("web"), held(a_snapshot("s"))]
    )

    with kubectl.running("delete", "namespace", name) as deleting:
        deleting.line(f'namespace "{name}" deleted')
        assert deleting.is_held()
        assert kubectl.field(".status.phase", "ns", name) == "Terminating"
        complaint = inside.refused("create", "-f", "-", given=a_config_map("late"))
        assert "because it is being terminated" in complaint
        release(inside, "pvc", "data")
        release(inside, "vs", "s")
        assert deleting.ends() == 0
    assert "not found" in kubectl.refused("get", "namespace", name)


@kubectls()
def test_protected_namespaces_stay(kubectl: Kubectl) -> None:
    complaint = kubectl.refused("delete", "namespace", "default")

    assert "(Forbidden)" in complaint
    assert "this namespace may not be deleted" in complaint


@kubectls()
@pytest.mark.parametrize("cascade", ["background", "foreground", "orphan"])
def test_what_depends_on_the_deleted(kubectl: Kubectl, cascade: str) -> None:
    kubectl("create", "-f", "-", given=a_config_map("owner"))
    uid = kubectl.field(".metadata.uid", "cm", "owner")
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}
    dependent = a_config_map("dependent")
    dependent["metadata"]["ownerReferences"] = [owner | {"blockOwnerDeletion": True}]
    kubectl("create", "-f", "-", given=dependent)

    kubectl("delete", "cm", "owner", f"--cascade={cascade}")

    if cascade == "orphan":
        assert "ownerReferences" not in kubectl.doc("cm", "dependent")["metadata"]
    else:
        waited = kubectl.run("wait", "--for=delete", "cm/dependent", "--timeout=10s")
        assert waited.code == 0 or "no matching resources found" in waited.err  # so says 1.20


@kubectls()
def test_a_running_pod_is_given_its_time(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=a_pod("web", nodeName="somewhere"))

    kubectl("delete", "pod", "web", "--grace-period=12", "--wait=false")
    metadata = kubectl.doc("pod", "web")["metadata"]
    assert metadata["deletionGracePeriodSeconds"] == 12
    kubectl("delete", "pod", "web", "--force", "--grace-period=0")

    assert kubectl("get", "pods", "-o", "name") == ""


@kubectls(since=(1, 35))
def test_wait_asks_for_a_streaming_list(kubectl: Kubectl) -> None:
    """Without the bookmark that ends it, this kubectl would wait for ever."""
    kubectl("create", "-f", "-", given=a_pod("web"))

    ran = kubectl.run("wait", "pod/web", "--for=jsonpath={.spec.restartPolicy}=Always", "-v=8")

    assert ran.code == 0
    assert "sendInitialEvents=true" in ran.err
