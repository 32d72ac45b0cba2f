"""From the version that an object is stored in to the one that a client reads.

Strategy None: only `apiVersion` is another. What the schema of either version does not know goes,
and its defaults come. A stored document may be older than today's schema, so this is done even
where both are the same version. Strategy Webhook: `webhooks/conversions.py` asks, before anything
is read; what comes here is of the version that is wanted.
"""

from collections.abc import Callable, Mapping, Sequence

from mooring.apiserver.kinds.contract import ConversionWebhook, StoredAs
from mooring.apiserver.kinds.definition.conversion import REVIEWS, WEBHOOK
from mooring.errors import ServerError
from mooring.model.document import Doc

Renews = Mapping[str, Callable[[Doc], None]]


def stored_as(definition: Doc, renews: Renews) -> StoredAs:
    """How the objects of a definition are stored; `renews` is by version.

    An object that does not say its version is of the oldest one that the definition says objects
    may be stored in: new ones are put behind it, and it goes when all objects have been written
    again.
    """
    spec = definition["spec"]
    group = spec["group"]
    storage = next(version["name"] for version in spec["versions"] if version["storage"])
    known: Sequence[str] = (definition.get("status") or {}).get("storedVersions") or [storage]
    oldest = next((name for name in known if name in renews), storage)
    return StoredAs(
        f"{group}/{storage}",
        f"{group}/{oldest}",
        {f"{group}/{name}": renew for name, renew in renews.items()},
        _webhook(spec.get("conversion") or {}),
    )


def _webhook(conversion: Doc) -> ConversionWebhook | None:
    if conversion.get("strategy") != WEBHOOK:
        return None
    webhook = conversion["webhook"]
    review = next(name for name in webhook["conversionReviewVersions"] if name in REVIEWS)
    return ConversionWebhook(webhook["clientConfig"], review)


def renewing(stored: StoredAs, wanted: str) -> Callable[[Doc], None]:
    """Brings a document from the store, in place, to what readers of `wanted` see."""
    renew = stored.renews[wanted]

    def convert(doc: Doc) -> None:
        written = doc["apiVersion"]
        if written != wanted:
            if stored.webhook is not None:
                raise ServerError(
                    f"the object is stored in version {written}, and is not converted to {wanted}"
                )
            if (first := stored.renews.get(written)) is not None:
                first(doc)
            doc["apiVersion"] = wanted
        renew(doc)

    return convert
