"""The pod's information in the volume context, for drivers with `podInfoOnMount`."""

from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec

from mooring.csi.secrets import NO_SECRETS, Secrets
from mooring.errors import ApiError, ConnectionLost
from mooring.model.csi_driver import CsiDriverSpec, TokenRequest
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.model.secret_value import SecretValue
from mooring.model.timestamp import to_seconds
from mooring.model.wellknown import Parameter
from mooring.plugins.contract import NotStarted
from mooring.plugins.csi.source import csi_message
from mooring.plugins.volume_host import NodeObjects, TokenWish

DEFAULT_SECONDS = 3600  # of a token for which the driver names no lifetime


def pod_info(spec: CsiDriverSpec, pod: Pod, *, is_inline: bool) -> Mapping[str, str]:
    """All of these or none."""
    if not spec.pod_info_on_mount:
        return {}
    return {
        Parameter.POD_NAME: pod.name,
        Parameter.POD_NAMESPACE: pod.namespace,
        Parameter.POD_UID: pod.uid,
        Parameter.SERVICE_ACCOUNT: pod.spec.service_account_name,
        Parameter.EPHEMERAL: "true" if is_inline else "false",
    }


async def account_tokens(objects: NodeObjects, spec: CsiDriverSpec, pod: Pod) -> Secrets:
    """Tokens of the pod's account, one per audience, as one JSON document under one key.

    Raises: NotStarted.
    """
    if not spec.token_requests:
        return NO_SECRETS
    tokens: dict[str, dict[str, str]] = {}
    for request in spec.token_requests:
        try:
            token = await objects.token(_wish(request, pod))
        except (ApiError, ConnectionLost, NotStarted) as error:
            text = f"mounter.SetUpAt failed to get service accoount token attributes: {error}"
            raise NotStarted(csi_message(text)) from error
        tokens[request.audience] = {
            "token": token.value.reveal().decode(),
            "expirationTimestamp": to_seconds(datetime.fromtimestamp(token.expires_at, UTC)),
        }
    document = msgspec.json.encode(tokens, order="sorted")
    return Secrets({Parameter.SERVICE_ACCOUNT_TOKENS: SecretValue(document)})


def _wish(request: TokenRequest, pod: Pod) -> TokenWish:
    return TokenWish(
        Key(pod.namespace, pod.spec.service_account_name),
        pod.name,
        pod.uid,
        (request.audience,) if request.audience else (),
        request.expiration_seconds or DEFAULT_SECONDS,
    )
