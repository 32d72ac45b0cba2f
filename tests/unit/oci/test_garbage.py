"""Which images go when the disk is full."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.oci.garbage import GcView, ImageAge, decide_garbage
from mooring.oci.registry.settings import GcSettings

USUAL = GcSettings(high_percent=85, low_percent=80, minimum_age=120.0)
NOW = 10_000.0


def an_image(id: str, size: int = 10, used: float = 0.0, **how: bool) -> ImageAge:
    flags = {"is_in_use": False, "is_pulled": True} | how
    return ImageAge(id, size, used, 0.0, flags["is_in_use"], flags["is_pulled"])


def view(available: int, *images: ImageAge, capacity: int = 1000) -> GcView:
    return GcView(NOW, capacity, available, images)


OLD, NEWER = an_image("old"), an_image("newer", used=50.0)


@pytest.mark.parametrize(
    ("seen", "removed", "wanted"),
    [
        pytest.param(view(500, OLD), (), 0, id="room"),
        pytest.param(view(160, OLD), (), 0, id="a percent below the high threshold"),
        pytest.param(view(150, OLD, NEWER), ("old", "newer"), 50, id="at the high threshold"),
        pytest.param(view(195, OLD, NEWER), (), 0, id="between the two"),
        pytest.param(view(0, OLD, capacity=0), (), 0, id="a disk of no size"),
        pytest.param(
            view(150, an_image("large", 60, 90.0), an_image("old", 60)),
            ("old",),
            50,
            id="only as many as are needed, unused longest first",
        ),
        pytest.param(view(150, an_image("used", is_in_use=True)), (), 50, id="in use"),
        pytest.param(view(150, an_image("own", is_pulled=False)), (), 50, id="imported"),
        pytest.param(view(150, an_image("young", used=NOW - 119)), (), 50, id="too young"),
        pytest.param(view(150, an_image("aged", used=NOW - 120)), ("aged",), 50, id="old enough"),
    ],
)
def test_decided(seen: GcView, removed: tuple[str, ...], wanted: int) -> None:
    plan = decide_garbage(seen, USUAL)
    assert (plan.remove, plan.wanted) == (removed, wanted)


def test_a_maximum_for_all_pulled_images() -> None:
    settings = GcSettings(most_bytes=15, minimum_age=0.0)
    imported = an_image("own", 1000, is_pulled=False)
    plan = decide_garbage(view(900, OLD, NEWER, imported), settings)
    assert plan.remove == ("old",)
    assert plan.because == "pulled images have 20 bytes, and 15 are allowed"


IMAGES = st.lists(
    st.builds(
        ImageAge,
        id=st.uuids().map(str),
        size=st.integers(0, 200),
        last_used=st.floats(0, NOW),
        first_seen=st.floats(0, NOW),
        is_in_use=st.booleans(),
        is_pulled=st.booleans(),
    ),
    max_size=12,
)


@given(IMAGES, st.integers(0, 1000))
def test_no_image_in_use_imported_or_young_ever_goes(images: list[ImageAge], free: int) -> None:
    plan = decide_garbage(view(free, *images), USUAL)
    for image in images:
        if image.id in plan.remove:
            assert not image.is_in_use
            assert image.is_pulled
            assert NOW - max(image.last_used, image.first_seen) >= USUAL.minimum_age
    if plan.freed < plan.wanted:  # then all that may go does
        may = [one for one in images if one.id not in plan.remove]
        assert not any(
            not one.is_in_use
            and one.is_pulled
            and NOW - max(one.last_used, one.first_seen) >= USUAL.minimum_age
            for one in may
        )
