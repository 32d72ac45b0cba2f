"""What the owners of pods have in common: a selector, and a template for their pods."""

from collections.abc import Mapping
from typing import Any

from mooring.model.meta import ApiObject
from mooring.model.selector import LabelSelector

Template = Mapping[str, Any]
"""A PodTemplateSpec as JSON: pods get all of its fields, also those not typed in `model.pod`."""


class PodOwner(ApiObject, frozen=True, kw_only=True):
    """An object that is the controller of pods."""

    def selector(self) -> LabelSelector:
        """What its pods match; an empty selector matches none."""
        raise NotImplementedError

    def selects(self, labels: Mapping[str, str]) -> bool:
        return self.selector().matches(labels)
