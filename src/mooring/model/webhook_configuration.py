"""Which webhooks an API server asks before it writes, as far as their names go."""

from typing import ClassVar

from mooring.model.meta import ApiObject, Resource
from mooring.model.wire import Wire

GROUP, VERSION = "admissionregistration.k8s.io", "v1"


class Webhook(Wire, frozen=True):
    name: str
    failure_policy: str = ""


class ValidatingConfiguration(ApiObject, frozen=True):
    resource: ClassVar = Resource(
        *(GROUP, VERSION, "ValidatingWebhookConfiguration", "validatingwebhookconfigurations"),
        namespaced=False,
    )

    webhooks: tuple[Webhook, ...] = ()


class MutatingConfiguration(ApiObject, frozen=True):
    resource: ClassVar = Resource(
        *(GROUP, VERSION, "MutatingWebhookConfiguration", "mutatingwebhookconfigurations"),
        namespaced=False,
    )

    webhooks: tuple[Webhook, ...] = ()
