"""The secrets that a volume's driver is given, read when they are needed and kept nowhere."""

from mooring.client.contract import Client
from mooring.csi.secrets import NO_SECRETS, Secrets
from mooring.errors import ApiError, MooringError, NotFound
from mooring.model.keys import Key
from mooring.model.reference import SecretReference
from mooring.model.secret import Secret


class NoCredentials(MooringError):
    """The secret cannot be read; the text has its name, and nothing of its content."""


class NoSuchSecret(NoCredentials):
    """There is none of that name, or no such namespace: waiting may be in vain."""


async def read_credentials(client: Client, reference: SecretReference | None) -> Secrets:
    """Raises: NoCredentials (NoSuchSecret if it is not there), ConnectionLost."""
    if reference is None:
        return NO_SECRETS
    try:
        secret = await client.get(Secret, Key(reference.namespace, reference.name))
    except NotFound as error:
        raise NoSuchSecret(str(error)) from error
    except ApiError as error:
        raise NoCredentials(str(error)) from error
    return Secrets(secret.data)
