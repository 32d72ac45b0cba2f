"""An API server that refuses to make an object: a quota, a webhook, a namespace that is ending."""

import re
from collections.abc import Iterator

from mooring.model import quantity
from mooring.model.webhook_configuration import MutatingConfiguration, ValidatingConfiguration
from mooring.why.answer import Fix, Ref
from mooring.why.found import is_plain, kubectl, ref
from mooring.why.world import World

_UNREACHED = re.compile(r'failed calling webhook "([^"]+)"')
_DENIED = re.compile(r'admission webhook "([^"]+)" denied the request')


def fix_creation(world: World, message: str, namespace: str) -> Iterator[Fix]:
    """`message` is what the API server said, in an event or a condition."""
    yield from _larger_quota(message, namespace)
    yield from _without_webhook(world, message)


def _without_webhook(world: World, message: str) -> Iterator[Fix]:
    """One that cannot be reached may be done without; one that denies is only shown."""
    unreached, denied = _UNREACHED.search(message), _DENIED.search(message)
    wanted = unreached or denied
    if wanted is None:
        return
    known: tuple[ValidatingConfiguration | MutatingConfiguration, ...]
    known = (*world.all(ValidatingConfiguration), *world.all(MutatingConfiguration))
    for configuration in known:
        for at, webhook in enumerate(configuration.webhooks):
            if webhook.name != wanted[1]:
                continue
            about = ref(configuration)
            if unreached is not None:
                path = f"/webhooks/{at}/failurePolicy"
                patch = f'[{{"op":"replace","path":"{path}","value":"Ignore"}}]'
                command = kubectl("patch", about, "--type=json", "-p", patch)
                told = f"lets objects be made while the webhook {webhook.name} cannot be asked"
                yield Fix(command, told)
            else:
                told = f"shows what the webhook {webhook.name} looks at, and who serves it"
                yield Fix(kubectl("get", about, "-o", "yaml"), told)
            return


def _larger_quota(message: str, namespace: str) -> Iterator[Fix]:
    """`exceeded quota: NAME, requested: A=1, used: A=2, limited: A=2`: raise what is limited."""
    _, found, rest = message.partition("exceeded quota: ")
    if not found:
        return
    name, _, parts = rest.partition(",")
    amounts: dict[str, dict[str, str]] = {}
    for part in parts.split(", "):
        word, _, values = part.strip().partition(": ")
        amounts[word] = dict(
            (pair.split("=", 1)[0], pair.split("=", 1)[1].rstrip("."))
            for pair in values.split(",")
            if "=" in pair
        )
    raised = {}
    for what, asked in amounts.get("requested", {}).items():
        try:
            total = quantity.parse(amounts["used"][what]) + quantity.parse(asked)
        except (KeyError, ValueError):
            continue
        raised[what] = str(total)
    if raised and is_plain(name.strip(), *raised):
        hard = ",".join(f'"{what}":"{amount}"' for what, amount in sorted(raised.items()))
        about = Ref("ResourceQuota", name.strip(), namespace)
        command = kubectl("patch", about, "-p", f'{{"spec":{{"hard":{{{hard}}}}}}}')
        yield Fix(command, f"raises quota {name.strip()} to what is used and asked for")
