"""Stories that say how they end."""

from collections.abc import Mapping

from tests.conformance.controllers.story import Story
from tests.conformance.controllers.table import binding, neighbours, provisioning, reclaiming

ALL: Mapping[str, Story] = {
    **binding.STORIES,
    **provisioning.STORIES,
    **reclaiming.STORIES,
    **neighbours.STORIES,
}
