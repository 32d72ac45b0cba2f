"""What a driver has answered. Pure.

A driver's standard output and standard error together have to be one JSON object.
"""

import json
from collections.abc import Callable, Mapping
from enum import StrEnum

import msgspec

from mooring.plugins.flex.capabilities import BadReply, Capabilities, read_capabilities

SUCCESS = "Success"
NOT_SUPPORTED = "Not supported"
SHOWN_CHARACTERS = 200  # of output that is no JSON


class Call(StrEnum):
    """The commands of a driver."""

    INIT = "init"
    GET_VOLUME_NAME = "getvolumename"
    ATTACH = "attach"
    WAIT_FOR_ATTACH = "waitforattach"
    IS_ATTACHED = "isattached"
    DETACH = "detach"
    MOUNT_DEVICE = "mountdevice"
    UNMOUNT_DEVICE = "unmountdevice"
    MOUNT = "mount"
    UNMOUNT = "unmount"
    EXPAND_VOLUME = "expandvolume"
    EXPAND_FS = "expandfs"


class Answer(msgspec.Struct, frozen=True):
    """The call succeeded."""

    device: str = ""
    attached: bool = False
    capabilities: Capabilities = Capabilities()


class Unsupported(msgspec.Struct, frozen=True):
    """The driver does not know the call: somebody else has to do it."""


class Refusal(msgspec.Struct, frozen=True):
    """The driver has ended, and not well."""

    text: str


Judgement = Answer | Unsupported | Refusal


def judge(
    call: Call, output: str, status: str = "", hide: Callable[[str], str] = lambda text: text
) -> Judgement:
    """`status`: how the program ended, in words; empty if its exit code was 0.

    What the JSON says counts before the exit code: a failure in it is told, and a success with a
    bad exit code is a mistake of the driver. `hide` takes secrets out of what is told: not out of
    what is judged, since a secret may be a word of the answer.
    """
    judged = _judge(call, output, status, hide)
    return Refusal(hide(judged.text)) if isinstance(judged, Refusal) else judged


def _judge(call: Call, output: str, status: str, hide: Callable[[str], str]) -> Judgement:
    try:
        said = _object(output)
        answer = _answer(said)
    except BadReply as error:
        ended = f" ({status})" if status else ""
        shown = json.dumps(hide(output)[:SHOWN_CHARACTERS])  # uncut, or half a secret stays
        return Refusal(f"{call} command failed{ended}: bad reply of the driver: {error}: {shown}")
    told = said.get("status", "")
    if told == NOT_SUPPORTED:
        return Unsupported()
    if told != SUCCESS:
        return Refusal(
            f"{call} command failed, status: {told}, reason: {said.get('message') or ''}"
        )
    if status:
        return Refusal(f"{call} command failed: {status}, although the driver says Success")
    return answer


def _object(output: str) -> Mapping[str, object]:
    """With its keys in lower case. Raises: BadReply."""
    text = output.strip()
    if not text:
        raise BadReply("unexpected end of JSON input")
    try:
        document, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError) as error:
        raise BadReply(f"no JSON: {error}") from None
    if not isinstance(document, dict):
        raise BadReply("not a JSON object")
    if text[end:].strip():
        raise BadReply(f"something follows the JSON object at character {end}")
    return {key.lower(): value for key, value in document.items()}


def _answer(said: Mapping[str, object]) -> Answer:
    """Raises: BadReply."""
    device, attached = said.get("device"), said.get("attached")
    for key in ("status", "message", "device"):
        if not isinstance(said.get(key), str | None):
            raise BadReply(f"{key}: not a string")
    if not isinstance(attached, bool | None):
        raise BadReply("attached: not a boolean")
    if isinstance(device, str) and "\0" in device:
        raise BadReply("device: has a NUL in it")
    return Answer(str(device or ""), bool(attached), read_capabilities(said.get("capabilities")))
