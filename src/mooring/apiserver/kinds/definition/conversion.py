"""How objects get from one version to another: what a definition may say of it."""

from collections.abc import Iterable

from mooring.apiserver.kinds.client_config import is_usable_bundle, validate_client_config
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, forbidden, invalid, not_supported, required

NONE, WEBHOOK = "None", "Webhook"
_PATH = "spec.conversion"
REVIEWS = ("v1", "v1beta1")
_SHOWN = 64  # characters of a bundle, in the refusal of it
_MUST_REVIEW = "must include at least one of v1, v1beta1"


def validate_conversion(conversion: Doc) -> Iterable[FieldError]:
    """Before: defaults are set."""
    strategy, webhook = conversion.get("strategy", ""), conversion.get("webhook")
    if not strategy:
        yield required(f"{_PATH}.strategy")
    elif strategy not in (NONE, WEBHOOK):
        yield not_supported(f"{_PATH}.strategy", strategy, (NONE, WEBHOOK))
    if strategy != WEBHOOK:
        if webhook is not None:
            why = "should not be set when strategy is not set to Webhook"
            yield forbidden(f"{_PATH}.webhookClientConfig", why)
        return
    config = (webhook or {}).get("clientConfig")
    if config is None:
        yield required(f"{_PATH}.webhookClientConfig", "required when strategy is set to Webhook")
    else:
        yield from validate_client_config(config, f"{_PATH}.webhookClientConfig")
    reviews = (webhook or {}).get("conversionReviewVersions") or []
    if not set(reviews) & set(REVIEWS):
        yield invalid(f"{_PATH}.conversionReviewVersions", reviews, _MUST_REVIEW)


def ca_bundle(conversion: Doc) -> str:
    """The authorities that the certificate of its webhook must be of; empty: the machine's."""
    config = (conversion.get("webhook") or {}).get("clientConfig") or {}
    return str(config.get("caBundle") or "")


def validate_bundle(new: Doc, old: Doc) -> Iterable[FieldError]:
    """Of a definition that is served: a bundle that is no longer usable is a mistake.

    Before it is served, a condition says so: often a program fills it in when it runs.
    """
    bundle = ca_bundle(new)
    if bundle != ca_bundle(old) and not is_usable_bundle(bundle):
        why = "unable to load root certificates: unable to parse bytes as PEM block"
        yield invalid(f"{_PATH}.webhookClientConfig.caBundle", bundle[:_SHOWN], why)
