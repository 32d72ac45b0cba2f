"""Why a claim gets no volume, in words that say what to change. Pure."""

from collections.abc import Collection
from difflib import get_close_matches

from mooring.model.claim import Claim
from mooring.model.volume import Volume

MOST_NAMED = 10
LIKE = 0.8  # names share long prefixes and suffixes


def too_small(claim: Claim, largest: Volume, besides: str) -> str:
    """`largest` would serve the claim but for its size; `besides` says why none is made."""
    return (
        f"no persistent volume is large enough: the claim asks for {claim.requested}, and the "
        f'largest that would fit otherwise, "{largest.name}", has {largest.size}; {besides}'
    )


def unregistered(provisioner: str, registered: Collection[str]) -> str:
    """What to say of a provisioner that is not among those that are registered."""
    if not registered:
        return f'No CSI driver or plugin "{provisioner}" is registered, nor is any other.'
    names = sorted(registered)
    shown = ", ".join(f'"{name}"' for name in names[:MOST_NAMED])
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    text = f'No CSI driver or plugin "{provisioner}" is registered; registered are {shown}{more}.'
    near = get_close_matches(provisioner, names, n=1, cutoff=LIKE)
    return f'{text} Did you mean "{near[0]}"?' if near else text
