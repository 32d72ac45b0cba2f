"""Well-known kinds of Kubernetes that are not served: what to use in their place.

A request for one is answered as for any unknown kind (404, NotFound); only the message says more.
Discovery does not list them. A kind that comes to be served leaves this table.
"""

from collections.abc import Mapping

from mooring.apiserver.request.refusals import not_served
from mooring.apiserver.request.routes import Route
from mooring.errors import NotFound

_ON_HOST = "pods share the network of their node, so their ports are reached there"
_NOT_AGGREGATED = "no other API server is asked; kinds of your own have a CustomResourceDefinition"
_BUDGETS = "every client has a budget, whatever its priority"

_INSTEAD: Mapping[str, Mapping[str, str]] = {
    "autoscaling": {
        "horizontalpodautoscalers": "use `kubectl scale`",
    },
    "networking.k8s.io": {
        "ingressclasses": _ON_HOST,
        "ingresses": _ON_HOST,
    },
    "node.k8s.io": {"runtimeclasses": "set no runtimeClassName in the Pod"},
    "apiregistration.k8s.io": {"apiservices": _NOT_AGGREGATED},
    "flowcontrol.apiserver.k8s.io": {
        "flowschemas": _BUDGETS,
        "prioritylevelconfigurations": _BUDGETS,
    },
    "certificates.k8s.io": {
        "certificatesigningrequests": "`mooring kubeconfig` makes credentials",
    },
}


def find_advice(route: Route) -> NotFound | None:
    """The refusal that says what to use instead; None for kinds that nobody knows."""
    advice = _INSTEAD.get(route.group, {}).get(route.plural)
    return None if advice is None else not_served(route.group, route.plural, advice)
