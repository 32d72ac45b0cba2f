"""What a driver's refusal means, as far as its words can be recognised.

Callers of drivers write a failed call as `rpc error: code = X desc = Y` into events and statuses.
The code says who can do something about it. What is not recognised is quoted, and no more.
"""

import re
from collections.abc import Iterator, Mapping

import msgspec

from mooring.model.storage_class import StorageClass
from mooring.why.answer import Fix, Ref
from mooring.why.found import is_plain, kubectl, recreated, ref
from mooring.why.world import World

_CALL = re.compile(r"rpc error: code = (\w+)")
_SECRET = re.compile(
    r"(?:error getting secret (?P<n1>\S+) in namespace (?P<s1>[^\s:]+)"
    r"|SecretRef (?P<s2>[^\s/]+)/(?P<n2>[^\s:]+) failed"
    r"|secret (?P<s3>[^\s/]+)/(?P<n3>[^\s:]+)): .*not found",
    re.IGNORECASE,
)
_RESERVED = re.compile(r'unknown parameter key "([^"]+)"')
_NAMED = re.compile(r"[\"'`]([^\"'`\s]+)[\"'`]|(?:parameter|option|key):? ([\w./-]+)")
_NO_ROOM = re.compile(r"no space|no room|not enough|too large|insufficient", re.IGNORECASE)


class Meaning(msgspec.Struct, frozen=True):
    says: str
    who: str = ""  # must act; empty: whoever made the call tries again


_MEANINGS: Mapping[str, Meaning] = {
    "InvalidArgument": Meaning(
        "the driver does not take what it is asked for; asking again is in vain until that changes",
        "whoever wrote the class or the claim",
    ),
    "NotFound": Meaning("the storage does not have what the call names", "an administrator"),
    "AlreadyExists": Meaning(
        "the storage has one of that name with other properties", "an administrator"
    ),
    "PermissionDenied": Meaning(
        "the storage does not allow it with the driver's credentials", "an administrator"
    ),
    "Unauthenticated": Meaning(
        "the storage does not accept the driver's credentials", "an administrator"
    ),
    "ResourceExhausted": Meaning("there is no room, or a limit is reached", "an administrator"),
    "OutOfRange": Meaning("the driver makes no volume of this size", "whoever made the claim"),
    "FailedPrecondition": Meaning("the volume is not in a state in which this can be done"),
    "Aborted": Meaning("the driver is still at work on this volume; it is asked again"),
    "Unimplemented": Meaning(
        "the driver cannot do this at all", "whoever asked for it, or installs the driver"
    ),
    "Unavailable": Meaning(
        "the driver does not answer: it is down, or starting", "whoever runs the driver"
    ),
    "DeadlineExceeded": Meaning(
        "the driver did not answer in time, and may still be at work; it is asked again"
    ),
    "Internal": Meaning("the driver failed; its own log says more", "whoever runs the driver"),
    "Unknown": Meaning("the driver failed; its own log says more", "whoever runs the driver"),
}
_UNREACHED = frozenset({"Unavailable", "DeadlineExceeded", "Internal", "Unknown"})
_NOT_LET_IN = frozenset({"PermissionDenied", "Unauthenticated"})


def code_of(message: str) -> str:
    """Of the gRPC call that failed; empty: none is told of."""
    found = _CALL.search(message)
    return found[1] if found else ""


def meaning_of(message: str) -> Meaning | None:
    return _MEANINGS.get(code_of(message))


def with_meaning(message: str) -> str:
    found = meaning_of(message)
    return message if found is None else f"{message} ({found.says})"


def who_acts(message: str, otherwise: str) -> str:
    found = meaning_of(message)
    return otherwise if found is None or not found.who else found.who


def is_no_room(message: str) -> bool:
    code = code_of(message)
    return code in {"ResourceExhausted", "OutOfRange"} or bool(_NO_ROOM.search(message))


# what helps


def fix_refused(driver: str, message: str) -> Iterator[Fix]:
    """Whatever was asked of the driver: a secret that is missing, a driver that is not there."""
    secret = missing_secret(message)
    if secret is not None:
        command = (
            f"kubectl create secret generic {secret.name} -n {secret.namespace} "
            "--from-literal=KEY=VALUE"
        )
        yield Fix(command, "makes the secret; put what the driver expects in place of KEY=VALUE")
    elif code_of(message) in _UNREACHED and is_plain(driver):
        told = f"says where driver {driver} runs, and whether it does"
        yield Fix(f"mooring why csidriver/{driver}", told)


def fix_of_class(world: World, chosen: StorageClass | None, message: str) -> Iterator[Fix]:
    """What the class asks for is refused, or its credentials are."""
    if chosen is None:
        return
    for key in sorted(_named_parameters(chosen, message)):
        if is_plain(key):
            edit = rf"\|^  {key.replace('.', chr(92) + '.')}: |d"
            told = f"makes the class anew, without the parameter {key}, which the driver refuses"
            yield Fix(recreated(ref(chosen), edit), told)
    if code_of(message) in _NOT_LET_IN:
        yield from _other_credentials(chosen)


def missing_secret(message: str) -> Ref | None:
    found = _SECRET.search(message)
    if found is None:
        return None
    name = found["n1"] or found["n2"] or found["n3"]
    namespace = found["s1"] or found["s2"] or found["s3"]
    return Ref("Secret", name, namespace) if is_plain(name, namespace) else None


def _named_parameters(chosen: StorageClass, message: str) -> Iterator[str]:
    """Parameters of the class that the refusal names."""
    if reserved := _RESERVED.search(message):
        if reserved[1] in chosen.parameters:
            yield reserved[1]
        return
    if code_of(message) != "InvalidArgument":
        return
    named = {name for both in _NAMED.findall(message) for name in both}
    yield from (key for key in chosen.parameters if key in named)


def _other_credentials(chosen: StorageClass) -> Iterator[Fix]:
    for key, name in sorted(chosen.parameters.items()):
        if not key.endswith("secret-name"):
            continue
        namespace = chosen.parameters.get(key.removesuffix("name") + "namespace", "")
        if is_plain(name, namespace):  # a template is none
            patch = '{"stringData":{"KEY":"VALUE"}}'
            command = kubectl("patch", Ref("Secret", name, namespace), "-p", patch)
            yield Fix(command, f"puts other credentials into secret {name}, which the class names")
            return
