"""`mooring driver`: which flags go together."""

import pytest

from mooring.cli.driver import Kind, pool_of
from mooring.driver.settings import ThinPool
from mooring.errors import UsageError


def test_the_pool_of_a_volume_group() -> None:
    assert pool_of(Kind.LVM, "vg0", "") == ThinPool("vg0")
    assert pool_of(Kind.LVM, "vg0", "fast") == ThinPool("vg0", "fast")
    assert pool_of(Kind.LOOP, "", "") is None


REFUSED = {
    "LVM without a volume group": (Kind.LVM, "", "pool", "takes a --volume-group"),
    "a volume group without LVM": (Kind.LOOP, "vg0", "", "take --backend lvm"),
    "a thin pool without LVM": (Kind.LOOP, "", "pool", "take --backend lvm"),
}


@pytest.mark.parametrize(("kind", "group", "pool", "words"), REFUSED.values(), ids=REFUSED)
def test_flags_without_effect_are_refused(kind: Kind, group: str, pool: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        pool_of(kind, group, pool)
