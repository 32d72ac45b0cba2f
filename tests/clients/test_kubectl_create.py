"""kubectl create, run, diff and dry runs."""

import base64
import json
from pathlib import Path

import jwt

from tests.clients.kubectl import Kubectl, kubectls
from tests.clients.manifests import a_claim, a_config_map, a_pod, a_volume


@kubectls()
def test_a_claim_and_a_volume_are_created_from_one_file(kubectl: Kubectl, unique: str) -> None:
    said = kubectl("create", "-f", "-", given=[a_claim(), a_volume(unique)])

    assert said.splitlines() == [
        "persistentvolumeclaim/data created",
        f"persistentvolume/{unique} created",
    ]
    claim, volume = kubectl.doc("pvc", "data"), kubectl.doc("pv", unique)
    assert claim["status"]["phase"] == "Pending"
    assert claim["spec"]["volumeMode"] == "Filesystem"
    assert claim["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    assert volume["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    assert volume["metadata"]["finalizers"] == ["kubernetes.io/pv-protection"]


@kubectls()
def test_creating_twice_is_told_apart_from_other_errors(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=a_claim())

    assert kubectl.refused("create", "-f", "-", given=a_claim()) == (
        'Error from server (AlreadyExists): error when creating "STDIN": '
        'persistentvolumeclaims "data" already exists'
    )


@kubectls()
def test_an_invalid_claim_names_the_field(kubectl: Kubectl) -> None:
    complaint = kubectl.refused("create", "-f", "-", given=a_claim(accessModes=[]))

    assert 'The PersistentVolumeClaim "data" is invalid' in complaint
    assert "spec.accessModes: Required value: at least 1 access mode is required" in complaint


@kubectls()
def test_a_misspelt_field_is_refused(kubectl: Kubectl) -> None:
    complaint = kubectl.refused("create", "-f", "-", given=a_claim(storageClas="fast"))

    assert 'unknown field "' in complaint
    assert "storageClas" in complaint
    assert kubectl("get", "pvc", "-o", "name") == ""


@kubectls(since=(1, 25))
def test_a_misspelt_field_passes_with_a_warning_when_asked_to(kubectl: Kubectl) -> None:
    ran = kubectl.run("create", "--validate=warn", "-f", "-", given=a_claim(storageClas="fast"))

    assert ran.code == 0
    assert 'Warning: unknown field "spec.storageClas"' in ran.err


@kubectls()
def test_objects_are_made_from_the_command_line(kubectl: Kubectl, unique: str) -> None:
    kubectl("create", "configmap", "settings", "--from-literal=colour=blue")
    kubectl("create", "secret", "generic", "login", "--from-literal=password=hidden")
    kubectl("create", "serviceaccount", "robot")
    kubectl("create", "namespace", f"{unique}-more")

    assert kubectl.doc("cm", "settings")["data"] == {"colour": "blue"}
    secret = kubectl.doc("secret", "login")
    assert secret["data"] == {"password": base64.b64encode(b"hidden").decode()}
    assert secret["type"] == "Opaque"
    assert kubectl("get", "sa", "robot", "-o", "name") == "serviceaccount/robot"
    assert kubectl.field(".status.phase", "ns", f"{unique}-more") == "Active"


@kubectls()
def test_a_config_map_takes_files_of_any_bytes(kubectl: Kubectl, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("grün\n")
    (tmp_path / "bytes").write_bytes(b"\xff\x00\xfe")

    kubectl("create", "cm", "files", f"--from-file={tmp_path}")

    stored = kubectl.doc("cm", "files")
    assert stored["data"] == {"text": "grün\n"}
    assert stored["binaryData"] == {"bytes": base64.b64encode(b"\xff\x00\xfe").decode()}


@kubectls(since=(1, 24))
def test_a_token_is_made_for_a_service_account(kubectl: Kubectl, namespace: str) -> None:
    token = kubectl("create", "token", "default", "--duration=20m", "--audience=vault")

    claims = jwt.decode(token, options={"verify_signature": False})
    assert claims["sub"] == f"system:serviceaccount:{namespace}:default"
    assert claims["aud"] == ["vault"]
    assert claims["exp"] - claims["iat"] == 20 * 60


@kubectls(since=(1, 24))
def test_a_token_for_a_missing_account_is_refused(kubectl: Kubectl) -> None:
    complaint = kubectl.refused("create", "token", "ghost")

    assert 'serviceaccounts "ghost" not found' in complaint


@kubectls()
def test_run_makes_a_pod(kubectl: Kubectl) -> None:
    assert kubectl("run", "web", "--image=example.com/web:1", "--port=80") == "pod/web created"

    pod = kubectl.doc("pod", "web")
    assert pod["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    assert pod["metadata"]["labels"] == {"run": "web"}
    assert pod["spec"]["serviceAccountName"] == "default"


@kubectls()
def test_generated_names_differ(kubectl: Kubectl) -> None:
    wanted = a_config_map()
    wanted["metadata"] = {"generateName": "made-"}

    names = {kubectl("create", "-f", "-", "-o", "name", given=wanted) for _ in range(2)}

    assert len(names) == 2
    assert all(name.startswith("configmap/made-") for name in names)


@kubectls()
def test_a_dry_run_on_the_server_stores_nothing(kubectl: Kubectl) -> None:
    shown = kubectl("create", "--dry-run=server", "-o", "json", "-f", "-", given=a_claim())

    assert json.loads(shown)["status"]["phase"] == "Pending"
    assert kubectl("get", "pvc", "-o", "name") == ""


@kubectls()
def test_a_dry_run_finds_what_is_invalid(kubectl: Kubectl) -> None:
    complaint = kubectl.refused("create", "--dry-run=server", "-f", "-", given=a_claim(size="0"))

    assert "must be greater than zero" in complaint


@kubectls()
def test_diff_shows_what_apply_would_change(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=a_config_map(colour="blue"))

    same = kubectl.run("diff", "-f", "-", given=a_config_map(colour="blue"))
    other = kubectl.run("diff", "-f", "-", given=a_config_map(colour="red"))

    assert (same.code, same.out) == (0, "")
    assert other.code == 1
    assert "-  colour: blue" in other.out
    assert "+  colour: red" in other.out
    assert kubectl.field(".data.colour", "cm", "settings") == "blue"


@kubectls(since=(1, 22))
def test_diff_of_a_server_side_apply(kubectl: Kubectl) -> None:
    kubectl("apply", "--server-side", "-f", "-", given=a_config_map(colour="blue"))

    ran = kubectl.run("diff", "--server-side", "-f", "-", given=a_config_map(colour="red"))

    assert ran.code == 1
    assert "+  colour: red" in ran.out


@kubectls()
def test_many_objects_at_once(kubectl: Kubectl) -> None:
    claims = [a_claim(f"data-{number}") for number in range(40)]

    created = kubectl("create", "-f", "-", given=claims)

    assert created.count(" created") == 40
    assert len(kubectl("get", "pvc", "-o", "name").splitlines()) == 40


@kubectls()
def test_a_pod_of_an_unknown_service_account_is_refused(kubectl: Kubectl) -> None:
    complaint = kubectl.refused("create", "-f", "-", given=a_pod("web", serviceAccountName="ghost"))

    assert "error looking up service account" in complaint
    assert 'serviceaccount "ghost" not found' in complaint


@kubectls()
def test_absent_kinds_say_what_to_use_instead(kubectl: Kubectl) -> None:
    for arguments, advice in (
        (("ingress", "x", "--rule=h/p=s:80"), "ingresses.networking.k8s.io: pods share the"),
    ):
        said = kubectl.refused("create", *arguments)
        assert f"Mooring does not serve {advice}" in said
        assert "\n" not in said
    said = kubectl.refused("get", "ingresses")
    assert "the server doesn't have a resource type" in said
