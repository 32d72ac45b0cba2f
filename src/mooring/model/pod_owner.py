"""What the owners of pods have in common: a selector, and a template for their pods."""

from collections.abc import Mapping
from typing import Any

from mooring.model.meta import ApiObject

Template = Mapping[str, Any]
"""A PodTemplateSpec as JSON: pods get all of its fields, also those not typed in `model.pod`."""


class PodOwner(ApiObject, frozen=True, kw_only=True):
    """An object that is the controller of pods."""

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Whether the selector matches these labels; an empty one matches nothing."""
        raise NotImplementedError
