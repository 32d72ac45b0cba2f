"""The caches of the AttachDetach controller; the role runs the informers."""

import msgspec

from mooring.model.attachment import Attachment
from mooring.model.claim import Claim
from mooring.model.csi_driver import CsiDriver
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.volume import Volume
from mooring.reconcile.informer import Informer
from mooring.reconcile.worker import Synced


class Informers(msgspec.Struct, frozen=True):
    pods: Informer[Pod]
    nodes: Informer[Node]
    claims: Informer[Claim]
    volumes: Informer[Volume]
    drivers: Informer[CsiDriver]
    attachments: Informer[Attachment]

    def all(self) -> tuple[Synced, ...]:
        return msgspec.structs.astuple(self)
