"""An image that is not taken."""

from mooring.oci.contract import RuntimeRefused


class ImageRefused(RuntimeRefused):
    """An image cannot be read, or found; one line that says why. The store is as it was before."""


def shown(name: str) -> str:
    """A name from an archive, fit for one line: whatever is odd in it is escaped."""
    text = name if name.isprintable() else ascii(name)[1:-1]
    return text if len(text) <= 200 else f"{text[:200]}..."
