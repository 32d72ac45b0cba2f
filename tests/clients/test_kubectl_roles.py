"""The cluster roles that Kubernetes users know, with kubectl."""

from tests.clients.kubectl import Kubectl, kubectls
from tests.clients.tables import read_tables
from tests.fakes.waiting import until


@kubectls()
def test_the_well_known_cluster_roles_are_listed(kubectl: Kubectl) -> None:
    names = {row["NAME"] for row in read_tables(kubectl("get", "clusterroles"))}
    assert {"cluster-admin", "admin", "edit", "view", "system:basic-user"} <= names
    described = kubectl("describe", "clusterrole", "system:public-info-viewer")
    assert "/readyz" in described


@kubectls()
async def test_a_user_is_given_edit_in_one_namespace(kubectl: Kubectl, unique: str) -> None:
    user = f"jane-{unique}"
    asking = ("auth", "can-i", "--as", user)
    assert kubectl.run(*asking, "create", "pods").out.strip() == "no"
    kubectl("create", "rolebinding", "jane", "--clusterrole=edit", f"--user={user}")
    await until(lambda: kubectl.run(*asking, "create", "pods").out.strip() == "yes")
    assert kubectl(*asking, "create", "pods/portforward") == "yes"
    assert kubectl(*asking, "list", "pvc") == "yes"
    for denied in (("create", "rolebindings"), ("list", "pv"), ("create", "pods", "-n", "default")):
        assert kubectl.run(*asking, *denied).out.strip() == "no"


def test_a_stranger_may_ask_about_itself_and_no_more(kubectl: Kubectl) -> None:
    asking = ("auth", "can-i", "--as", "nobody-in-particular")
    assert kubectl(*asking, "create", "selfsubjectaccessreviews.authorization.k8s.io") == "yes"
    assert kubectl(*asking, "get", "/apis") == "yes"
    assert kubectl.run(*asking, "list", "pods").out.strip() == "no"
    assert kubectl(*asking, "--as-group", "system:monitoring", "get", "/metrics") == "yes"
    held = kubectl.run(*asking, "--as-group", "system:authenticated", "delete", "nodes")
    assert held.out.strip() == "no"
