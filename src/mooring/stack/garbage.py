"""How often a process with an API server looks for garbage. Imports nothing of Mooring."""

import gc

THRESHOLDS = (20_000, 20, 50)  # Python's own are 700, 10, 10


def collect_garbage_seldom() -> None:
    """Requests leave hardly any cycles, but while they are served they hold thousands of objects,
    which the collector would look at again and again: a tenth of what a create costs. To be called
    first: loading the modules of all roles leaves none either.
    """
    gc.set_threshold(*THRESHOLDS)
