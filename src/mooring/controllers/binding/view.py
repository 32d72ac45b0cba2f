"""What a decision of the binder sees: one claim or one volume, and what concerns it."""

from enum import Enum

import msgspec

from mooring.model.claim import Claim
from mooring.model.condition import Condition
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume
from mooring.model.wellknown import Plugin


class Plugins(msgspec.Struct, frozen=True):
    """Which plugins of this process can do what."""

    known: frozenset[str] = frozenset((Plugin.HOST_PATH, Plugin.NFS))
    provision: frozenset[str] = frozenset((Plugin.HOST_PATH,))
    delete: frozenset[str] = frozenset((Plugin.HOST_PATH,))
    recycle: frozenset[str] = frozenset((Plugin.HOST_PATH, Plugin.NFS))


class Provisioning(Enum):
    """Whether volumes are made on demand at all."""

    ON = "on"
    OFF = "off"


class ClaimView(msgspec.Struct, frozen=True):
    """A claim and what decides about it."""

    claim: Claim
    volume: Volume | None = None  # the one its volumeName names
    holder: Claim | None = None  # another that was bound to that one, which has forgotten it
    match: Volume | None = None  # without a volumeName: the one that fits best
    too_small: Volume | None = None  # without one: the largest that would fit but for its size
    storage_class: StorageClass | None = None  # the one it asks for
    default_class: StorageClass | None = None  # looked up only when it asks for none
    unscheduled_pods: tuple[str, ...] = ()  # pods that use it and have no node yet
    registered: frozenset[str] | None = None  # provisioners; None: its class's is one of them
    plugins: Plugins = Plugins()
    provisioning: Provisioning = Provisioning.ON
    conditions_when_bound: tuple[Condition, ...] | None = None  # its use among them

    @property
    def is_delayed(self) -> bool:
        """Binding waits for a pod. A class that does not exist cannot ask for that."""
        return self.storage_class is not None and not self.storage_class.binds_at_once


class VolumeView(msgspec.Struct, frozen=True):
    """A volume and the claim it points at by name and uid; None when that one is gone."""

    volume: Volume
    claim: Claim | None = None
    plugins: Plugins = Plugins()
    named_by: Claim | None = None  # unless `claim` is bound to it: one that was, and names it still
