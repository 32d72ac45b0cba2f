"""Why an image was not pulled: one line each, without anything secret."""

from mooring.oci.refused import ImageRefused


class PullFailed(ImageRefused):
    """The image was not pulled; nothing of it is left."""


class Unreachable(PullFailed):
    """The registry does not answer, or its answers break off: another may, or itself later."""


class Denied(PullFailed):
    """The registry does not let us have it, with these credentials or without any."""


class NotThere(PullFailed):
    """The registry has no such image."""
