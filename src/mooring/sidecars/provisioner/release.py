"""Taking the finalizer of Mooring's provisioner off claims, on a cluster that it leaves."""

from collections.abc import Callable

import msgspec

from mooring.client.contract import Client
from mooring.model.claim import Claim
from mooring.model.document import Doc
from mooring.model.volume import Volume
from mooring.model.wellknown import Annotation
from mooring.sidecars.finalizers import has_finalizer, removing
from mooring.sidecars.provisioner.decide.release import NeedsAbandon, Removable, decide_release
from mooring.sidecars.provisioner.plan import INTENT
from mooring.sidecars.writing import patch_newest

Say = Callable[[str], None]


class Release(msgspec.Struct, frozen=True):
    driver: str = ""  # empty: of every driver
    is_dry: bool = False  # only print
    abandons: bool = False  # also what may leave a volume behind


async def release(client: Client, wanted: Release, say: Say) -> None:
    """Remove the finalizer from claims that do not need it, and print why the others do.

    Repeated: released claims are not listed any more.
    """
    claims = (await client.list(Claim)).items
    volumes = (await client.list(Volume)).items  # after the claims, so that no volume is missed
    verdicts = decide_release(claims, volumes, wanted.driver)
    held = 0
    for verdict in verdicts:
        match verdict:
            case Removable(claim, because):
                await _let_go(client, claim, because, wanted, say)
            case NeedsAbandon(claim, left) if wanted.abandons:
                await _let_go(client, claim, f"given up; it may leave behind {left}", wanted, say)
            case NeedsAbandon(claim, left):
                held += 1
                say(f"{claim.key} stays: without the finalizer it may leave behind {left}")
    if not verdicts:
        say("no claim is held")
    if held:
        say(
            f"{held} stay: run the provisioner of their driver until they are settled, or repeat"
            " this with --abandon and look for these volumes yourself"
        )


async def _let_go(client: Client, claim: Claim, because: str, wanted: Release, say: Say) -> None:
    if not wanted.is_dry:
        await patch_newest(client, claim, _without)
    say(f"{claim.key} {'would be ' if wanted.is_dry else ''}let go of: {because}")


def _without(newest: Claim) -> Doc:
    if not has_finalizer(newest, INTENT):
        return {}
    record: Doc = {"annotations": {Annotation.VOLUME_REQUEST: None}}
    return {"metadata": {**removing(newest, INTENT), **record}}
