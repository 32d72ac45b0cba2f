"""Zones and regions of in-tree volumes and classes, in a driver's own terms and back."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from msgspec.structs import replace

from mooring.model.csi_translation.contract import FS_TYPE, TranslationError
from mooring.model.node_selector import (
    NodeOperator,
    NodeRequirement,
    NodeSelector,
    NodeSelectorTerm,
)
from mooring.model.storage_class import StorageClass, TopologyRequirement, TopologyTerm
from mooring.model.volume import Volume, VolumeNodeAffinity
from mooring.model.wellknown import Label, Parameter

MANY_ZONES: Final = "__"  # between the zones in a label
ZONE_KEYS: Final = frozenset({Label.ZONE, Label.ZONE_BETA})

FindRegion = Callable[[tuple[str, ...]], str]
"""The one region of these zones. Raises: TranslationError."""


def terms_of(volume: Volume) -> tuple[NodeSelectorTerm, ...]:
    affinity = volume.spec.node_affinity
    required = None if affinity is None else affinity.required
    return () if required is None else required.node_selector_terms


def with_terms(volume: Volume, terms: Iterable[NodeSelectorTerm]) -> Volume:
    affinity = VolumeNodeAffinity(NodeSelector(tuple(terms)))
    return replace(volume, spec=replace(volume.spec, node_affinity=affinity))


def values_of(terms: Iterable[NodeSelectorTerm], key: str) -> tuple[str, ...]:
    """The values that the terms ask for under this key: each once, sorted."""
    found = {
        value
        for term in terms
        for wanted in term.match_expressions
        if wanted.key == key
        for value in wanted.values
    }
    return tuple(sorted(found))


def renamed(
    terms: Iterable[NodeSelectorTerm], names: Mapping[str, str]
) -> tuple[NodeSelectorTerm, ...]:
    return tuple(
        replace(
            term,
            match_expressions=tuple(
                replace(wanted, key=names.get(wanted.key, wanted.key))
                for wanted in term.match_expressions
            ),
        )
        for term in terms
    )


def appended(
    terms: tuple[NodeSelectorTerm, ...], key: str, values: tuple[str, ...]
) -> tuple[NodeSelectorTerm, ...]:
    """The requirement in every term; in one of its own if there is none."""
    wanted = NodeRequirement(key, NodeOperator.IN, values)
    return tuple(
        replace(term, match_expressions=(*term.match_expressions, wanted))
        for term in terms or (NodeSelectorTerm(),)
    )


def label_pair(volume: Volume) -> tuple[str, str]:
    """The labels for zone and region that the volume goes by: today's, or the beta ones."""
    terms, labels = terms_of(volume), volume.metadata.labels
    keys = {wanted.key for term in terms for wanted in term.match_expressions}
    is_beta = Label.ZONE not in keys and (
        Label.ZONE_BETA in keys or (Label.ZONE not in labels and Label.ZONE_BETA in labels)
    )
    return (Label.ZONE_BETA, Label.REGION_BETA) if is_beta else (Label.ZONE, Label.REGION)


def zones_of_label(label: str) -> tuple[str, ...]:
    return tuple(sorted({zone.strip() for zone in label.split(MANY_ZONES)} - {""}))


def to_csi(volume: Volume, zone_key: str) -> Volume:
    """Zones of its affinity under the driver's key, else those of its labels."""
    terms, labels = terms_of(volume), volume.metadata.labels
    if not terms and not labels:
        return volume
    zone, region = label_pair(volume)
    if values_of(terms, zone):
        changed = renamed(terms, {zone: zone_key})
    elif zones := zones_of_label(labels.get(zone, "")):
        changed = appended(terms, zone_key, zones)
    else:
        changed = terms
    if region == Label.REGION_BETA:
        changed = renamed(changed, {Label.REGION_BETA: Label.REGION})
    return volume if changed == terms else with_terms(volume, changed)


def to_in_tree(volume: Volume, zone_key: str, find_region: FindRegion | None = None) -> Volume:
    """The driver's key as the zone label; the region beside it, if it can be told from zones.

    Raises: TranslationError.
    """
    zone, region = label_pair(volume)
    terms = renamed(terms_of(volume), {zone_key: zone})
    labels = dict(volume.metadata.labels)
    if find_region is not None and terms:
        terms = _with_regions(terms, zone, region, find_region)
        regions = values_of(terms, region)
        if len(regions) == 1:
            labels.setdefault(region, regions[0])
    if zones := values_of(terms, zone):
        labels.setdefault(zone, MANY_ZONES.join(zones))
    if terms:
        volume = with_terms(volume, terms)
    return replace(volume, metadata=replace(volume.metadata, labels=labels))


def _with_regions(
    terms: Iterable[NodeSelectorTerm], zone: str, region: str, find_region: FindRegion
) -> tuple[NodeSelectorTerm, ...]:
    found: list[NodeSelectorTerm] = []
    for term in terms:
        if all(wanted.key != region for wanted in term.match_expressions):
            zones = tuple(
                value
                for wanted in term.match_expressions
                if wanted.key == zone
                for value in wanted.values
            )
            try:
                value = find_region(zones)
            except TranslationError as error:
                raise TranslationError(
                    f"Failed to handle region topology. error: {error}"
                ) from error
            found += appended((term,), region, (value,))
        else:
            found.append(term)
    return tuple(found)


# classes


def class_to_csi(
    storage_class: StorageClass, zone_key: str, *, moves_fs_type: bool = True
) -> StorageClass:
    """Zones of parameters and of allowedTopologies under the driver's key; fsType as CSI has it.

    Raises: TranslationError.
    """
    parameters, zones = {}, tuple[str, ...]()
    for key, value in storage_class.parameters.items():
        match key.lower():
            case "zone":
                zones = (value,)
            case "zones":
                zones = tuple(value.split(","))
            case name if name == FS_TYPE and moves_fs_type:
                parameters[Parameter.FS_TYPE] = value
            case _:
                parameters[key] = value
    if zones and storage_class.allowed_topologies:
        raise TranslationError(
            "cannot simultaneously set allowed topologies and zone/zones parameters"
        )
    allowed = allowed_to_csi(storage_class.allowed_topologies, zone_key)
    if zones:
        allowed = (TopologyTerm((TopologyRequirement(zone_key, zones),)),)
    return replace(storage_class, parameters=parameters, allowed_topologies=allowed)


def allowed_to_csi(terms: tuple[TopologyTerm, ...], zone_key: str) -> tuple[TopologyTerm, ...]:
    return tuple(
        TopologyTerm(
            tuple(
                replace(wanted, key=zone_key) if wanted.key in ZONE_KEYS else wanted
                for wanted in term.match_label_expressions
            )
        )
        for term in terms
    )
