import pytest

from mooring.upkeep.sizes import told_bytes

SIZES = {0: "0 B", 1023: "1023 B", 1536: "1.5 KiB", 5 << 20: "5.0 MiB", 3 << 40: "3.0 TiB"}


@pytest.mark.parametrize(("number", "told"), SIZES.items(), ids=SIZES.values())
def test_told_bytes(number: int, told: str) -> None:
    assert told_bytes(number) == told
