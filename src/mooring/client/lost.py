"""The error for a failed connection: one line with the cause and, if there is one, the remedy."""

import os

import aiohttp

from mooring.errors import ConnectionLost

FAILURES = (aiohttp.ClientError, OSError, ValueError)
"""What a request can raise: also timeouts and TLS errors, and names, tokens and responses that are
not valid HTTP."""


def lost(server: str, error: Exception) -> ConnectionLost:
    text = " ".join(_told(server, error).split())
    return ConnectionLost(text)


def _told(server: str, error: Exception) -> str:
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        why = error.certificate_error
        said = getattr(why, "verify_message", "") or str(why)
        return (
            f"the certificate of {server} cannot be trusted: {said.rstrip('.')}; check "
            "certificate-authority and tls-server-name in the kubeconfig"
        )
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"cannot reach {server}: {_reason(error.os_error)}"
    if isinstance(error, TimeoutError):
        return f"{server} did not answer in time"
    return f"the connection to {server} broke: {error or type(error).__name__}"


def _reason(error: OSError) -> str:
    """The system's text for the errno: asyncio's text repeats the address."""
    return os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
