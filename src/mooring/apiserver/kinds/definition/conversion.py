"""How objects get from one version to another: what a definition may say of it."""

from collections.abc import Iterable

from mooring.apiserver.kinds.client_config import validate_client_config
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, forbidden, invalid, not_supported, required

NONE, WEBHOOK = "None", "Webhook"
REVIEWS = ("v1", "v1beta1")
_MUST_REVIEW = "must include at least one of v1, v1beta1"


def validate_conversion(conversion: Doc) -> Iterable[FieldError]:
    """Before: defaults are set."""
    path = "spec.conversion"
    strategy, webhook = conversion.get("strategy", ""), conversion.get("webhook")
    if not strategy:
        yield required(f"{path}.strategy")
    elif strategy not in (NONE, WEBHOOK):
        yield not_supported(f"{path}.strategy", strategy, (NONE, WEBHOOK))
    if strategy != WEBHOOK:
        if webhook is not None:
            why = "should not be set when strategy is not set to Webhook"
            yield forbidden(f"{path}.webhookClientConfig", why)
        return
    config = (webhook or {}).get("clientConfig")
    if config is None:
        yield required(f"{path}.webhookClientConfig", "required when strategy is set to Webhook")
    else:
        yield from validate_client_config(config, f"{path}.webhookClientConfig")
    reviews = (webhook or {}).get("conversionReviewVersions") or []
    if not set(reviews) & set(REVIEWS):
        yield invalid(f"{path}.conversionReviewVersions", reviews, _MUST_REVIEW)
