"""Well-known kinds of Kubernetes that are not served: what to use in their place.

A request for one is answered as for any unknown kind (404, NotFound); only the message says more.
Discovery does not list them. A kind that comes to be served leaves this table.
"""

from collections.abc import Mapping

from mooring.apiserver.request.refusals import not_served
from mooring.apiserver.request.routes import Route
from mooring.errors import NotFound

_REPLICATED = "use a ReplicationController (its pods are kept running), or a Pod"
_RUN_ONCE = "use a Pod with restartPolicy: Never or OnFailure"
_ON_HOST = "pods share the network of their node, so their ports are reached there"
_SERVED = "only the kinds that `kubectl api-resources` lists are served"

_INSTEAD: Mapping[str, Mapping[str, str]] = {
    "": {
        "limitranges": "set resources in the Pod itself",
        "podtemplates": "put the template into a ReplicationController",
        "resourcequotas": "there are no quotas: limit by RBAC who may create what",
    },
    "apps": {
        "controllerrevisions": _SERVED,
        "daemonsets": "create a Pod with spec.nodeName for each node",
        "deployments": _REPLICATED,
        "replicasets": _REPLICATED,
        "statefulsets": "use a Pod and a PersistentVolumeClaim for each replica",
    },
    "batch": {
        "cronjobs": f"{_RUN_ONCE}, created by a timer of the host",
        "jobs": _RUN_ONCE,
    },
    "autoscaling": {
        "horizontalpodautoscalers": "use `kubectl scale` on a ReplicationController",
    },
    "networking.k8s.io": {
        "ingressclasses": _ON_HOST,
        "ingresses": _ON_HOST,
        "networkpolicies": _ON_HOST,
    },
    "policy": {
        "poddisruptionbudgets": "evictions are not held back: delete or keep the pods by hand",
    },
    "scheduling.k8s.io": {"priorityclasses": "set no priorityClassName in the Pod"},
    "node.k8s.io": {"runtimeclasses": "set no runtimeClassName in the Pod"},
    "apiextensions.k8s.io": {"customresourcedefinitions": _SERVED},
    "apiregistration.k8s.io": {"apiservices": _SERVED},
    "admissionregistration.k8s.io": {
        "mutatingwebhookconfigurations": _SERVED,
        "validatingadmissionpolicies": _SERVED,
        "validatingadmissionpolicybindings": _SERVED,
        "validatingwebhookconfigurations": _SERVED,
    },
    "certificates.k8s.io": {
        "certificatesigningrequests": "`mooring kubeconfig` makes credentials",
    },
}


def find_advice(route: Route) -> NotFound | None:
    """The refusal that says what to use instead; None for kinds that nobody knows."""
    advice = _INSTEAD.get(route.group, {}).get(route.plural)
    return None if advice is None else not_served(route.group, route.plural, advice)
