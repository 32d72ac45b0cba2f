"""Everybody who may change what is written, in upstream's order: the server's own rules, policies,
webhooks. Then, once more, those policies and webhooks that ask for it."""

from mooring.apiserver.admission.contract import AdmissionAttributes
from mooring.apiserver.policies.mutations import Refill
from mooring.apiserver.verbs.backend import Backend


async def mutate(backend: Backend, attributes: AdmissionAttributes, refill: Refill) -> bool:
    """Let policies and webhooks change `attributes.new`, in place; have they?

    Waits only if a webhook has to be asked, or policies take long. Raises: ApiError.
    """
    policies, webhooks = backend.mutations, backend.webhooks
    by_policies = await policies.mutate(attributes, refill)
    asked = await webhooks.mutate(attributes, refill)
    if not by_policies and not asked.changed:
        return False
    again = await policies.mutate(attributes, refill, again=True)
    await webhooks.mutate_again(attributes, refill, asked, is_changed=again)
    return True
