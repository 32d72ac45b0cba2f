"""The credentials that a pod's images are pulled with: its `imagePullSecrets`.

Those of its service account are in the pod since it was created, unless it brought its own.
"""

from typing import Protocol

from mooring import log
from mooring.errors import ApiError, ConnectionLost
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.model.secret import Secret
from mooring.node.pods.events import PodEvents
from mooring.oci.registry import logins
from mooring.oci.registry.logins import Keyring, Login, Unreadable

FAILED = "FailedToRetrieveImagePullSecret"

_log = log.get("mooring.node.pods")


class Secrets(Protocol):
    async def secret(self, key: Key) -> Secret:
        """Raises: NotFound, ApiError, ConnectionLost."""
        ...


class PullSecrets:
    def __init__(self, secrets: Secrets, events: PodEvents) -> None:
        self._secrets = secrets
        self._events = events

    async def keyring(self, pod: Pod) -> Keyring:
        """All that can be read: the others are told of, and the pull is tried without them."""
        entries: list[tuple[str, Login]] = []
        missing: list[str] = []
        for ref in pod.spec.image_pull_secrets:
            if not ref.name:
                continue
            try:
                entries += entries_of(await self._secrets.secret(Key(pod.namespace, ref.name)))
            except (ApiError, ConnectionLost, Unreadable) as error:
                _log.warning("no pull secret", pod=pod.key, secret=ref.name, because=error)
                missing.append(ref.name)
        if missing:
            names = ", ".join(missing)
            self._events.warning(
                pod,
                None,
                FAILED,
                f"Unable to retrieve some image pull secrets ({names}); attempting to pull the "
                "image may not succeed.",
            )
        return Keyring(entries)


def entries_of(secret: Secret) -> list[tuple[str, Login]]:
    """Raises: Unreadable."""
    key = logins.KEYS.get(secret.type)
    if key is None:
        raise Unreadable(f"it is of type {secret.type}, and not {logins.JSON_TYPE}")
    content = secret.data.get(key)
    if content is None:
        raise Unreadable(f"it has no {key}")
    return logins.parse(content.reveal(), is_old=secret.type == logins.OLD_TYPE)
