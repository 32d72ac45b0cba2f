"""Custom resources with kubectl: define, wait, apply, explain, get, scale, delete."""

from tests.clients.kubectl import Kubectl, kubectls
from tests.fakes.definitions import COLUMNS, a_definition, a_version, a_widget

SCALE = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
SINCE = (1, 28)


@kubectls(since=SINCE)
def test_a_kind_from_its_definition_to_its_end(kubectl: Kubectl, unique: str) -> None:
    group = f"{unique}.example.com"
    version = a_version(subresources={"scale": SCALE}, additionalPrinterColumns=COLUMNS)
    definition = a_definition(group=group, versions=[version], shortNames=["wd"])
    crd = f"crd/widgets.{group}"
    widget = {**a_widget("one", replicas=1, tags=["a"]), "apiVersion": f"{group}/v1"}

    kubectl("apply", "-f", "-", given=[definition])
    kubectl("wait", "--for", "condition=established", "--timeout=10s", crd)
    kubectl("apply", "-f", "-", given=[widget])
    assert kubectl("apply", "-f", "-", given=[widget]).endswith("unchanged")

    explained = kubectl("explain", f"widgets.{group}.spec.size")
    assert "FIELD: size <integer>" in explained, explained
    narrow, wide = kubectl("get", f"wd.{group}"), kubectl("get", f"wd.{group}", "-o", "wide")
    assert narrow.split()[:4] == ["NAME", "SIZE", "READY", "SINCE"], narrow
    assert wide.split()[:5] == ["NAME", "SIZE", "READY", "TAGS", "SINCE"], wide

    kubectl("scale", f"widgets.{group}/one", "--replicas=3")
    assert kubectl.doc(f"widgets.{group}", "one")["spec"]["replicas"] == 3
    refused = kubectl.refused("patch", f"widgets.{group}", "one", "--type=merge", "-p", SMALL)
    assert "spec.size in body should be greater than or equal to 1" in refused, refused

    kubectl("delete", crd, "--timeout=15s")
    gone = kubectl.refused("get", f"widgets.{group}")
    assert "the server doesn't have a resource type" in gone, gone


SMALL = '{"spec":{"size":0}}'
