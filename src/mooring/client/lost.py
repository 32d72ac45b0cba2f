"""The error for a failed connection: one line with the cause and, if there is one, the remedy."""

import os
import ssl

from mooring.client.connections import Unreachable
from mooring.errors import ConnectionLost, Unreached

FAILURES = (OSError, ValueError)
"""What a request can raise: also timeouts and TLS errors, and names, tokens and responses that are
not valid HTTP."""


def lost(server: str, error: Exception, remedy: str = "") -> ConnectionLost:
    """`remedy`: what a user may do when there is no connection."""
    text = " ".join(_told(server, error).split())
    return Unreached(text, remedy) if isinstance(error, Unreachable) else ConnectionLost(text)


def _told(server: str, error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        said = error.verify_message or str(error)
        return (
            f"the certificate of {server} cannot be trusted: {said.rstrip('.')}; check "
            "certificate-authority and tls-server-name in the kubeconfig"
        )
    if isinstance(error, Unreachable):
        return f"cannot reach {server}: {_reason(error.cause)}"
    if isinstance(error, TimeoutError):
        return f"{server} did not answer in time"
    return f"the connection to {server} broke: {error or type(error).__name__}"


def _reason(error: OSError) -> str:
    """The system's text for the errno: asyncio's text repeats the address."""
    if isinstance(error, ssl.SSLError):
        return (error.reason or "no TLS").replace("_", " ").lower()
    if error.errno and error.errno > 0:
        return os.strerror(error.errno)
    return str(error) or "it closes the connection"  # in the midst of a TLS handshake
