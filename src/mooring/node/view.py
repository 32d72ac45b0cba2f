"""One volume as the node sees it at one moment: all that a decision may look at."""

import msgspec

from mooring.node.actual import ActualVolume
from mooring.node.desired import WantedVolume


class View(msgspec.Struct, frozen=True):
    name: str
    wanted: WantedVolume | None
    actual: ActualVolume | None
    busy: frozenset[str] = frozenset()  # pods with a running operation; "": the whole volume
    unsure: frozenset[str] = frozenset()  # pods that may want more than is known: theirs stays
    may_destroy: bool = True  # both pictures are complete
    attaches_itself: bool = False  # no controller attaches volumes to this node
    is_attached: bool = True  # as far as the node's status said last
    grows_on_node: bool = False  # the plugin can, and must, make its file system larger
