"""The index finds what going through all volumes would find, however they came and went."""

from collections.abc import Mapping

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from mooring.controllers.binding.volume_index import VolumeIndex
from mooring.controllers.binding.waiting import WaitingClaims
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.selector import Expression, SelectorDocument
from mooring.model.storage_terms import AccessMode, VolumeMode
from mooring.model.volume import Volume, VolumePhase
from tests.unit.controllers.binding.things import (
    NAMESPACE,
    ROX,
    RWO,
    RWOP,
    RWX,
    a_claim,
    a_volume,
    labelled,
    ref,
)

SIZES = ("1Mi", "1Gi", "1024Mi", "1500M", "2Gi", "800E")
mode_sets = st.lists(st.sampled_from((RWO, ROX, RWX, RWOP)), min_size=1, max_size=4)

volumes = st.builds(
    lambda name, size, modes, phase, reference, block, labels, **spec: a_volume(
        name,
        size,
        *modes,
        phase=phase,
        claim_ref=reference,
        volume_mode=VolumeMode.BLOCK if block else VolumeMode.FILESYSTEM,
        labels=labels,
        **spec,
    ),
    name=st.sampled_from([f"v{i}" for i in range(8)]),
    size=st.sampled_from(SIZES),
    modes=mode_sets,
    phase=st.sampled_from((VolumePhase.AVAILABLE, VolumePhase.AVAILABLE, *VolumePhase)),
    reference=st.one_of(
        st.none(), st.none(), st.builds(ref, st.sampled_from("cd"), st.sampled_from(("", "u", "x")))
    ),
    block=st.booleans(),
    labels=st.dictionaries(
        st.sampled_from(("disk", "zone")), st.sampled_from(("ssd", "hdd")), max_size=2
    ),
    storage_class_name=st.sampled_from(("", "gold")),
    volume_attributes_class_name=st.sampled_from((None, "", "fast")),
    deleting=st.sampled_from((False, False, True)),
)

expressions = st.builds(
    Expression,
    st.sampled_from(("disk", "zone", "id")),
    st.sampled_from(("In", "NotIn")),
    st.sampled_from((("ssd",), ("ssd", "hdd"), ("x",))),
) | st.builds(
    Expression, st.sampled_from(("disk", "zone")), st.sampled_from(("Exists", "DoesNotExist"))
)
selectors = (
    st.none()
    | st.none()
    | st.sampled_from((labelled(), labelled(disk="ssd"), labelled(disk="ssd", zone="hdd")))
    | st.builds(
        lambda some: SelectorDocument(match_expressions=tuple(some)),
        st.lists(expressions, max_size=2),
    )
)

claims = st.builds(
    lambda size, modes, block, selector, storage_class, attributes: a_claim(
        size,
        *modes,
        volume_mode=VolumeMode.BLOCK if block else VolumeMode.FILESYSTEM,
        selector=selector,
        storage_class_name=storage_class,
        volume_attributes_class_name=attributes,
    ),
    st.sampled_from(SIZES),
    mode_sets,
    st.booleans(),
    selectors,
    st.sampled_from((None, "", "gold")),
    st.sampled_from((None, "", "fast")),
)


def picks(selector: SelectorDocument | None, labels: Mapping[str, str]) -> bool:
    if selector is None:
        return True
    asked = dict(selector.match_labels or {})
    return asked.items() <= dict(labels).items() and all(
        {
            "In": labels.get(each.key) in each.values,
            "NotIn": labels.get(each.key) not in each.values,
            "Exists": each.key in labels,
            "DoesNotExist": each.key not in labels,
        }[each.operator]
        for each in selector.match_expressions or ()
    )


def search_all(claim: Claim, everything: list[Volume], *, delayed: bool) -> Volume | None:
    """The rule as it is written down, with reservations first and ties by name."""
    wanted: set[AccessMode] = set(claim.spec.access_modes)
    suitable = [
        volume
        for volume in everything
        if volume.size.value >= claim.requested.value
        and volume.spec.volume_mode is claim.spec.volume_mode
        and (volume.spec.volume_attributes_class_name or "")
        == (claim.spec.volume_attributes_class_name or "")
        and volume.metadata.deletion_timestamp is None
        and wanted <= set(volume.spec.access_modes)
    ]
    best: Volume | None = None
    best_key: tuple[object, ...] = ()
    for volume in suitable:
        reference = volume.spec.claim_ref
        modes = len(set(volume.spec.access_modes))
        order = (modes, volume.size.value, volume.name)
        if reference is not None:
            mine = (reference.namespace, reference.name) == (claim.namespace, claim.name)
            if not mine or reference.uid not in ("", claim.uid):
                continue
            key: tuple[object, ...] = (0, reference.uid == "", *order)
        else:
            free = volume.status.phase in (VolumePhase.AVAILABLE, VolumePhase.PENDING)
            if delayed or not free or volume.storage_class != claim.storage_class:
                continue
            if not picks(claim.spec.selector, volume.metadata.labels):
                continue
            key = (1, False, *order)
        if best is None or key < best_key:
            best, best_key = volume, key
    return best


def largest_of_all(claim: Claim, everything: list[Volume]) -> Volume | None:
    """Of what the claim would get if it asked for next to nothing, the largest."""
    modest = replace(
        claim,
        spec=replace(claim.spec, resources=a_claim("1", *claim.spec.access_modes).spec.resources),
    )
    fitting = [
        volume
        for volume in everything
        if volume.spec.claim_ref is None and search_all(modest, [volume], delayed=False) == volume
    ]
    return max(fitting, key=lambda volume: (volume.size.value, volume.name), default=None)


@given(history=st.lists(volumes, max_size=20), claim=claims, data=st.data())
@settings(max_examples=150, deadline=None)
def test_of_volumes_that_are_too_small_the_largest_is_named(
    history: list[Volume], claim: Claim, data: st.DataObject
) -> None:
    index = VolumeIndex()
    known = {volume.name: volume for volume in history}
    for volume in history:
        index.find(data.draw(claims), delayed=False)
        index.put(volume)
    largest = largest_of_all(claim, list(known.values()))
    if largest is not None and largest.size.value >= claim.requested.value:
        largest = None  # that one, or a smaller one, is a match
    assert index.find_too_small(claim) == largest


@given(history=st.lists(volumes, max_size=20), claim=claims, delayed=st.booleans(), data=st.data())
@settings(max_examples=250, deadline=None)
def test_the_index_and_a_search_through_everything_agree(
    *, history: list[Volume], claim: Claim, delayed: bool, data: st.DataObject
) -> None:
    index = VolumeIndex()
    known: dict[str, Volume] = {}
    for volume in history:  # later ones of a name replace earlier ones
        index.find(data.draw(claims), delayed=False)  # whoever asks first has labels indexed
        if data.draw(st.booleans()):
            index.discard(volume.name)
            known.pop(volume.name, None)
        index.put(volume)
        known[volume.name] = volume
    assert index.find(claim, delayed=delayed) == search_all(
        claim, list(known.values()), delayed=delayed
    )


def test_a_volume_that_is_taken_is_offered_to_nobody_else() -> None:
    index = VolumeIndex()
    index.put(a_volume("a"))
    index.put(a_volume("b", "2Gi"))
    index.take("a")
    assert index.find(a_claim(), delayed=False) == a_volume("b", "2Gi")
    assert not index.is_offered("a")


def test_a_volume_given_back_is_offered_again() -> None:
    index = VolumeIndex()
    index.put(a_volume("a"))
    index.take("a")
    index.give_back("a")
    index.give_back("a")
    assert index.find(a_claim(), delayed=False) == a_volume("a")
    index.discard("a")
    assert index.find(a_claim(), delayed=False) is None


def test_a_volume_bound_while_it_was_taken_is_not_offered_again() -> None:
    index = VolumeIndex()
    index.put(a_volume("a"))
    index.take("a")
    index.put(a_volume("a", claim_ref=ref("d", "v"), phase=VolumePhase.BOUND))
    index.give_back("a")
    assert index.find(a_claim(), delayed=False) is None


def test_released_volumes_cost_nothing() -> None:
    """What the index goes through is counted, not timed."""
    index = VolumeIndex()
    for i in range(1000):
        index.put(a_volume(f"r{i}", claim_ref=ref("c", f"old-{i}"), phase=VolumePhase.RELEASED))
    index.put(a_volume("free"))
    assert index.reserved_for(a_claim()) == []
    found = index.find(a_claim(), delayed=False)
    assert found is not None
    assert found.name == "free"


@given(wishes=st.lists(claims, max_size=6), gone=st.sets(st.integers(0, 5)), volume=volumes)
@settings(max_examples=500, deadline=None)
def test_a_volume_wakes_whom_a_search_through_all_claims_would_find(
    wishes: list[Claim], gone: set[int], volume: Volume
) -> None:
    unclaimed = replace(volume, spec=replace(volume.spec, claim_ref=None))
    named = [
        replace(wish, metadata=replace(wish.metadata, name=f"c{i}"))
        for i, wish in enumerate(wishes)
    ]
    waiting = waiting_for(*named)
    left = []
    for i, claim in enumerate(named):
        if i in gone:
            waiting.discard(claim.key)
        elif search_all(claim, [unclaimed], delayed=False) is not None:
            left.append(claim)
    largest = max(left, key=lambda claim: (claim.requested.nanos, claim.key), default=None)
    assert waiting.offer(unclaimed) == (None if largest is None else largest.key)


def waiting_for(*wishes: Claim) -> WaitingClaims:
    waiting = WaitingClaims()
    for claim in wishes:
        waiting.put(claim, takes_any=True)
    return waiting


def test_a_volume_wakes_the_largest_claim_it_can_serve_and_only_that() -> None:
    waiting = waiting_for(*(a_claim(f"{size}Gi", name=f"c{size}") for size in (1, 2, 3)))
    assert waiting.offer(a_volume(size="2Gi")) == Key(NAMESPACE, "c2")
    assert waiting.offer(a_volume(size="2Gi")) == Key(NAMESPACE, "c1")
    assert waiting.offer(a_volume(size="2Gi")) is None


def test_claims_that_a_volume_cannot_serve_are_passed_over() -> None:
    waiting = waiting_for(
        a_claim("2Gi", RWX, name="many"),
        a_claim("2Gi", name="picky", selector=labelled(disk="ssd")),
        a_claim("1Gi", name="modest"),
    )
    assert waiting.offer(a_volume(size="2Gi")) == Key(NAMESPACE, "modest")


def test_claims_that_wait_for_a_pod_are_not_woken_by_a_volume() -> None:
    waiting = WaitingClaims()
    waiting.put(a_claim(), takes_any=False)
    assert waiting.offer(a_volume()) is None
    assert [claim.name for claim in waiting.of_class("")] == ["c"]


def test_a_woken_claim_knows_which_volumes_woke_it() -> None:
    waiting = waiting_for(a_claim())
    key = waiting.offer(a_volume("a"))
    assert key is not None
    assert waiting.take_offers(key) == ["a"]
    assert waiting.take_offers(key) == []
    assert key not in waiting
