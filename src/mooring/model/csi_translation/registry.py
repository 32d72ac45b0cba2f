"""The translators, by plugin, driver and source. Every translator has one line here."""

from collections.abc import Mapping
from typing import Final

from mooring.model.csi_translation.aws_ebs import AwsEbs
from mooring.model.csi_translation.azure_disk import AzureDisk
from mooring.model.csi_translation.azure_file import AzureFile
from mooring.model.csi_translation.cinder import Cinder
from mooring.model.csi_translation.contract import TranslationError, Translator
from mooring.model.csi_translation.gce_pd import GcePd
from mooring.model.csi_translation.portworx import Portworx
from mooring.model.csi_translation.rbd import Rbd
from mooring.model.csi_translation.vsphere import Vsphere

TRANSLATORS: Final[tuple[Translator, ...]] = (
    AwsEbs(),
    AzureDisk(),
    AzureFile(),
    Cinder(),
    GcePd(),
    Portworx(),
    Rbd(),
    Vsphere(),
)

BY_PLUGIN: Final[Mapping[str, Translator]] = {each.plugin: each for each in TRANSLATORS}
BY_DRIVER: Final[Mapping[str, Translator]] = {each.driver: each for each in TRANSLATORS}
BY_SOURCE: Final[Mapping[str, Translator]] = {each.source: each for each in TRANSLATORS}


def get_by_plugin(plugin: str) -> Translator:
    """Raises: TranslationError."""
    if plugin not in BY_PLUGIN:
        raise TranslationError(f"could not find CSI Driver name for plugin {plugin}")
    return BY_PLUGIN[plugin]


def get_by_driver(driver: str) -> Translator:
    """Raises: TranslationError."""
    if driver not in BY_DRIVER:
        raise TranslationError(f"could not find In-Tree driver name for CSI plugin {driver}")
    return BY_DRIVER[driver]
