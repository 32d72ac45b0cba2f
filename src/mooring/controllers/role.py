"""The role `controllers`: all of them, on one client, sharing their informers."""

from collections.abc import Callable
from typing import Final

from mooring.controllers.attachment import run as attachment
from mooring.controllers.binding import run as binding
from mooring.controllers.ephemeral import run as ephemeral
from mooring.controllers.expansion import run as expansion
from mooring.controllers.options import Options
from mooring.controllers.protection import run as protection
from mooring.controllers.replication import run as replication
from mooring.reconcile.loops import Loops

NAME: Final = "controllers"

CONTROLLERS: Final[tuple[Callable[[Loops, Options], None], ...]] = (
    binding.build,
    protection.build,
    ephemeral.build,
    expansion.build,
    attachment.build,
    replication.build,
)


def build(loops: Loops, options: Options) -> Loops:
    """Add every controller to the role."""
    for build_controller in CONTROLLERS:
        build_controller(loops, options)
    return loops
