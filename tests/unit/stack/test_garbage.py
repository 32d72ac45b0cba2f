"""How often garbage is looked for."""

import gc

from mooring.stack.garbage import collect_garbage_seldom


def test_it_is_looked_for_more_seldom_than_usual() -> None:
    before = gc.get_threshold()
    try:
        collect_garbage_seldom()
        assert gc.get_threshold() > before
    finally:
        gc.set_threshold(*before)
