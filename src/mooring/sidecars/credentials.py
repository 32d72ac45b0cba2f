"""The secrets that a volume's driver is given, read when they are needed and kept nowhere."""

from mooring.client.contract import Client
from mooring.csi.secrets import NO_SECRETS, Secrets
from mooring.errors import ApiError, MooringError
from mooring.model.keys import Key
from mooring.model.reference import SecretReference
from mooring.model.secret import Secret


class NoCredentials(MooringError):
    """The secret cannot be had; the text tells its name and nothing of what is in it."""


async def read_credentials(client: Client, reference: SecretReference | None) -> Secrets:
    """Raises: NoCredentials, ConnectionLost."""
    if reference is None:
        return NO_SECRETS
    try:
        secret = await client.get(Secret, Key(reference.namespace, reference.name))
    except ApiError as error:
        raise NoCredentials(str(error)) from error
    return Secrets(secret.data)
