"""Testing with kr8s: install Mooring (docs/testing.md) and `pip install kr8s`, then
`pytest --mooring test_kr8s.py`."""

import kr8s
from kr8s.objects import Deployment

from mooring.testing import Cluster

LABELS = {"app": "web"}
WEB = {
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 3,
        "selector": {"matchLabels": LABELS},
        "template": {
            "metadata": {"labels": LABELS},
            "spec": {"containers": [{"name": "web", "image": "web:1"}]},
        },
    },
}


def test_a_deployment_comes_up_and_scales(cluster: Cluster, namespace: str) -> None:
    cluster.add_node("kr8s-node")  # it runs pods by saying so
    api = kr8s.api(kubeconfig=str(cluster.kubeconfig))
    web = Deployment(WEB | {"metadata": {"name": "web", "namespace": namespace}}, api=api)
    web.create()
    web.wait("condition=Available", timeout=60)
    assert len(web.pods()) == 3
    web.scale(1)
    web.wait("jsonpath='{.status.replicas}'=1", timeout=60)
