"""What the node n1 may do in a cluster where `web` runs on it and `other` elsewhere."""

import pytest

from mooring.apiserver.auth.attributes import AccessAttributes
from mooring.apiserver.auth.node_authorizer import NodeAuthorizer
from tests.unit.apiserver.auth.cluster import Cluster, a_claim, a_pod, a_volume, two_nodes

STORAGE = "storage.k8s.io"


@pytest.fixture
def cluster() -> Cluster:
    return two_nodes()


@pytest.fixture
def authorizer(cluster: Cluster) -> NodeAuthorizer:
    return NodeAuthorizer(cluster)


def core(
    verb: str, resource: str, name: str = "", namespace: str = "default", selector: str = ""
) -> AccessAttributes:
    resource, _, subresource = resource.partition("/")
    return AccessAttributes(
        verb,
        resource=resource,
        subresource=subresource,
        namespace=namespace,
        name=name,
        field_selector=selector,
    )


def storage(verb: str, resource: str, name: str = "") -> AccessAttributes:
    resource, _, subresource = resource.partition("/")
    return AccessAttributes(
        verb, group=STORAGE, resource=resource, subresource=subresource, name=name
    )


def lease(verb: str, name: str = "", namespace: str = "kube-node-lease") -> AccessAttributes:
    group = "coordination.k8s.io"
    return AccessAttributes(verb, group=group, resource="leases", namespace=namespace, name=name)


ALLOWED = {
    "the secret of a volume": core("get", "secrets", "mounted"),
    "the secret of a projected volume": core("get", "secrets", "projected"),
    "the secret of an inline CSI volume": core("get", "secrets", "inline"),
    "the secret that images are pulled with": core("get", "secrets", "pull"),
    "the secret of the environment": core("get", "secrets", "env"),
    "the secret of one variable": core("get", "secrets", "one-key"),
    "a watch of one secret": core("watch", "secrets", "mounted"),
    "a list of one secret": core("list", "secrets", "mounted"),
    "the stage secret of its volume": core("get", "secrets", "stage", "storage"),
    "the publish secret of its volume": core("get", "secrets", "publish", "storage"),
    "the expand secret of its volume": core("get", "secrets", "expand", "storage"),
    "a volume's secret, by default with the claim": core("get", "secrets", "chap"),
    "the config map of a volume": core("get", "configmaps", "settings"),
    "the config map of a projected volume": core("get", "configmaps", "kube-root-ca.crt"),
    "the config map of an init container": core("get", "configmaps", "init-env"),
    "the config map of an ephemeral container": core("get", "configmaps", "one-map"),
    "a watch of one config map": core("watch", "configmaps", "settings"),
    "the claim of its pod": core("get", "persistentvolumeclaims", "data"),
    "a watch of one claim of its pod": core("watch", "persistentvolumeclaims", "data"),
    "a list of one claim of its pod": core("list", "persistentvolumeclaims", "data"),
    "the claim made for its pod": core("get", "persistentvolumeclaims", "web-scratch"),
    "the status of its claim, patched": core("patch", "persistentvolumeclaims/status", "data"),
    "the status of its claim, updated": core("update", "persistentvolumeclaims/status", "data"),
    "the volume of its pod": core("get", "persistentvolumes", "pv-data", ""),
    "the volume made for its pod": core("get", "persistentvolumes", "pv-scratch", ""),
    "the service account of its pod": core("get", "serviceaccounts", "web-account"),
    "a token for its pod": core("create", "serviceaccounts/token", "web-account"),
    "its pod": core("get", "pods", "web"),
    "its pods": core("list", "pods", selector="spec.nodeName=n1"),
    "a watch of its pods, everywhere": core("watch", "pods", "", "", "spec.nodeName=n1"),
    "a watch of one pod of its own": core("watch", "pods", "web", selector="metadata.name=web"),
    "a mirror pod": core("create", "pods"),
    "the end of a pod": core("delete", "pods", "web"),
    "the status of a pod": core("patch", "pods/status", "web"),
    "the eviction of a pod": core("create", "pods/eviction", "web"),
    "itself": core("get", "nodes", "n1", ""),
    "a watch of itself": core("watch", "nodes", "n1", "", "metadata.name=n1"),
    "its registration": core("create", "nodes", "", ""),
    "its labels": core("patch", "nodes", "n1", ""),
    "its status": core("patch", "nodes/status", "n1", ""),
    "its attachment": storage("get", "volumeattachments", "va-n1"),
    "a new CSINode": storage("create", "csinodes"),
    "its CSINode": storage("get", "csinodes", "n1"),
    "its CSINode, updated": storage("update", "csinodes", "n1"),
    "its CSINode, deleted": storage("delete", "csinodes", "n1"),
    "the status of its CSINode": storage("patch", "csinodes/status", "n1"),
    "drivers": storage("watch", "csidrivers"),
    "the servers of glusterfs volumes": core("get", "endpoints", "storage"),
    "the names of services": core("watch", "services"),
    "who is behind them": AccessAttributes(
        "list", group="discovery.k8s.io", resource="endpointslices"
    ),
    "a new lease": lease("create"),
    "its lease": lease("update", "n1"),
    "its lease, read": lease("get", "n1"),
    "events": core("create", "events"),
    "events, the new way": AccessAttributes(
        "patch", group="events.k8s.io", resource="events", name="e"
    ),
    "a check of a token": AccessAttributes(
        "create", group="authentication.k8s.io", resource="tokenreviews"
    ),
    "a check of access": AccessAttributes(
        "create", group="authorization.k8s.io", resource="subjectaccessreviews"
    ),
}


@pytest.mark.parametrize("attributes", ALLOWED.values(), ids=ALLOWED)
def test_a_node_may_have(authorizer: NodeAuthorizer, attributes: AccessAttributes) -> None:
    assert authorizer.authorize("n1", attributes).allowed


UNRELATED = "no relationship found between node 'n1' and this object"
ONE_BY_ONE = "can only get individual resources of this type"
DENIED = {
    "another node's secret": (core("get", "secrets", "others"), UNRELATED),
    "a secret of that name elsewhere": (
        core("get", "secrets", "mounted", "kube-system"),
        UNRELATED,
    ),
    "a secret that is not there": (core("get", "secrets", "absent"), UNRELATED),
    "the controller's secret of its volume": (
        core("get", "secrets", "controller", "storage"),
        UNRELATED,
    ),
    "all secrets": (core("list", "secrets"), "No Object name found"),
    "all secrets everywhere": (
        core("list", "secrets", "", ""),
        "can only read namespaced object of this type",
    ),
    "a secret, deleted": (
        core("delete", "secrets", "mounted"),
        "can only read resources of this type",
    ),
    "a secret's subresource": (core("get", "secrets/x", "mounted"), "cannot read subresource"),
    "another node's config map": (core("get", "configmaps", "others"), UNRELATED),
    "a config map, written": (
        core("update", "configmaps", "settings"),
        "can only read resources of this type",
    ),
    "another node's claim": (core("get", "persistentvolumeclaims", "others-data"), UNRELATED),
    "a claim that no pod uses": (core("get", "persistentvolumeclaims", "unused"), UNRELATED),
    "a watch of another node's claim": (
        core("watch", "persistentvolumeclaims", "others-data"),
        UNRELATED,
    ),
    "a watch of its claim's status": (
        core("watch", "persistentvolumeclaims/status", "data"),
        "can only get/update/patch this type",
    ),
    "all claims": (core("list", "persistentvolumeclaims"), ONE_BY_ONE),
    "a watch of all claims": (core("watch", "persistentvolumeclaims"), ONE_BY_ONE),
    "a claim, updated": (core("update", "persistentvolumeclaims", "data"), ONE_BY_ONE),
    "another node's claim's status": (
        core("patch", "persistentvolumeclaims/status", "others-data"),
        UNRELATED,
    ),
    "a claim's status, read": (
        core("get", "persistentvolumeclaims/status", "data"),
        "can only get/update/patch this type",
    ),
    "another node's volume": (core("get", "persistentvolumes", "pv-others", ""), UNRELATED),
    "a volume whose claim no pod uses": (
        core("get", "persistentvolumes", "pv-unused", ""),
        UNRELATED,
    ),
    "a free volume": (core("get", "persistentvolumes", "pv-free", ""), UNRELATED),
    "a volume that is not there": (core("get", "persistentvolumes", "absent", ""), UNRELATED),
    "all volumes": (core("list", "persistentvolumes", "", ""), ONE_BY_ONE),
    "a volume, patched": (core("patch", "persistentvolumes", "pv-data", ""), ONE_BY_ONE),
    "a volume's status": (
        core("get", "persistentvolumes/status", "pv-data", ""),
        "cannot get subresource",
    ),
    "another node's attachment": (storage("get", "volumeattachments", "va-n2"), UNRELATED),
    "an attachment that is not there": (storage("get", "volumeattachments", "absent"), UNRELATED),
    "all attachments": (storage("list", "volumeattachments"), ONE_BY_ONE),
    "another account's token": (
        core("create", "serviceaccounts/token", "other-account"),
        UNRELATED,
    ),
    "a token for nobody": (
        core("create", "serviceaccounts/token"),
        "can only create tokens for individual service accounts",
    ),
    "a new account": (
        core("create", "serviceaccounts", "web-account"),
        "can only create token subresource of serviceaccount",
    ),
    "all accounts": (
        core("list", "serviceaccounts"),
        "can only create tokens for individual service accounts",
    ),
    "another account": (core("get", "serviceaccounts", "other-account"), UNRELATED),
    "another node's pod": (core("get", "pods", "other"), UNRELATED),
    "a watch of another node's pod": (core("watch", "pods", "other"), UNRELATED),
    "all pods": (
        core("list", "pods"),
        "can only list/watch pods with spec.nodeName field selector",
    ),
    "another node's pods": (
        core("list", "pods", selector="spec.nodeName=n2"),
        "can only list/watch pods with spec.nodeName field selector",
    ),
    "all pods but its own": (
        core("list", "pods", selector="spec.nodeName!=n1"),
        "can only list/watch pods with spec.nodeName field selector",
    ),
    "a pod, updated": (core("update", "pods", "web"), ""),
    "a shell in a pod": (core("create", "pods/exec", "web"), ""),
    "a pod's place": (core("create", "pods/binding", "web"), ""),
    "another node": (
        core("get", "nodes", "n2", ""),
        "node 'n1' cannot read 'n2', only its own Node object",
    ),
    "all nodes": (
        core("list", "nodes", "", ""),
        "node 'n1' cannot read all nodes, only its own Node object",
    ),
    "the end of a node": (core("delete", "nodes", "n1", ""), ""),
    "another node's CSINode": (
        storage("get", "csinodes", "n2"),
        "can only access CSINode with the same name as the requesting node",
    ),
    "all CSINodes": (
        storage("list", "csinodes"),
        "can only get, create, update, patch, or delete a CSINode",
    ),
    "the status of another node's CSINode": (
        storage("patch", "csinodes/status", "n2"),
        "can only access CSINode with the same name as the requesting node",
    ),
    "the end of a CSINode's status": (
        storage("delete", "csinodes/status", "n1"),
        "can only get, update, or patch a CSINode status",
    ),
    "another part of a CSINode": (
        storage("get", "csinodes/scale", "n1"),
        "cannot authorize CSINode subresources",
    ),
    "another node's lease": (
        lease("update", "n2"),
        "can only access node lease with the same name as the requesting node",
    ),
    "all leases": (
        lease("list"),
        "can only get, create, update, patch, or delete a node lease",
    ),
    "a leader's lease": (
        lease("get", "n1", "kube-system"),
        'can only access leases in the "kube-node-lease" system namespace',
    ),
    "classes": (storage("get", "storageclasses", "fast"), ""),
    "a driver, written": (storage("create", "csidrivers"), ""),
    "all endpoints": (core("list", "endpoints"), ""),
    "a service, written": (core("patch", "services", "web"), ""),
    "an endpoint slice, written": (
        AccessAttributes("patch", group="discovery.k8s.io", resource="endpointslices", name="s"),
        "",
    ),
    "a namespace": (core("get", "namespaces", "default", "default"), ""),
}


@pytest.mark.parametrize(("attributes", "reason"), DENIED.values(), ids=DENIED)
def test_a_node_may_not_have(
    authorizer: NodeAuthorizer, attributes: AccessAttributes, reason: str
) -> None:
    verdict = authorizer.authorize("n1", attributes)
    assert (verdict.allowed, verdict.reason) == (False, reason)


def test_a_pod_that_leaves_takes_its_secrets_along(
    cluster: Cluster, authorizer: NodeAuthorizer
) -> None:
    attributes = core("get", "secrets", "mounted")
    assert authorizer.authorize("n1", attributes).allowed
    del cluster.pods["default", "web"]
    assert not authorizer.authorize("n1", attributes).allowed


def test_a_pod_that_changes_is_looked_at_again(
    cluster: Cluster, authorizer: NodeAuthorizer
) -> None:
    attributes = core("get", "secrets", "new")
    assert not authorizer.authorize("n1", attributes).allowed
    changed = a_pod("web", "n1", imagePullSecrets=[{"name": "new"}])
    changed["metadata"]["generation"] = 2
    cluster.pods["default", "web"] = changed
    assert authorizer.authorize("n1", attributes).allowed


def test_a_pod_of_the_same_name_is_another_pod(
    cluster: Cluster, authorizer: NodeAuthorizer
) -> None:
    attributes = core("get", "secrets", "mounted")
    assert authorizer.authorize("n1", attributes).allowed
    again = a_pod("web", "n1")
    again["metadata"]["uid"] = "uid-again"
    cluster.pods["default", "web"] = again
    assert not authorizer.authorize("n1", attributes).allowed


def test_a_mirror_pod_gives_its_node_nothing(cluster: Cluster, authorizer: NodeAuthorizer) -> None:
    mirror = a_pod("mirror", "n1", imagePullSecrets=[{"name": "wanted"}])
    mirror["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    cluster.pods["default", "mirror"] = mirror
    assert not authorizer.authorize("n1", core("get", "secrets", "wanted")).allowed
    assert authorizer.authorize("n1", core("get", "pods", "mirror")).allowed


def test_a_claim_cannot_pull_in_a_volume_that_does_not_point_back(
    cluster: Cluster, authorizer: NodeAuthorizer
) -> None:
    theirs = {"driver": "d", "nodeStageSecretRef": {"namespace": "vault", "name": "root"}}
    cluster.volumes["pv-theirs"] = a_volume("pv-theirs", "theirs", csi=theirs)
    cluster.claims["default", "data"] = a_claim("data", "pv-theirs")
    assert not authorizer.authorize("n1", core("get", "secrets", "root", "vault")).allowed
    assert not authorizer.authorize("n1", core("get", "persistentvolumes", "pv-theirs", "")).allowed


def test_a_right_goes_with_the_last_pod_that_gave_it(
    cluster: Cluster, authorizer: NodeAuthorizer
) -> None:
    attributes = core("get", "persistentvolumeclaims", "data")
    volumes = [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]
    cluster.pods["default", "second"] = a_pod("second", "n1", volumes=volumes)
    for _ in range(2):
        assert authorizer.authorize("n1", attributes).allowed
    del cluster.pods["default", "web"]
    assert authorizer.authorize("n1", attributes).allowed
    cluster.pods["default", "second"]["spec"]["nodeName"] = "n2"
    assert not authorizer.authorize("n1", attributes).allowed
    assert authorizer.authorize("n2", attributes).allowed


def test_what_is_asked_for_again_costs_one_look_at_one_pod(
    cluster: Cluster, authorizer: NodeAuthorizer
) -> None:
    attributes = core("get", "persistentvolumeclaims", "data")
    assert authorizer.authorize("n1", attributes).allowed
    cluster.searches = 0
    for _ in range(3):
        assert authorizer.authorize("n1", attributes).allowed
    assert cluster.searches == 0
