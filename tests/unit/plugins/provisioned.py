"""An API with the class and the secret of volumes that are made elsewhere, and what is made."""

import base64
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from mooring.model.claim import Claim
from mooring.model.document import Doc
from mooring.model.secret import Secret
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume
from mooring.model.wire import read_document
from mooring.plugins.contract import Order
from tests.fakes.client import FakeClient
from tests.fakes.clock import VirtualClock
from tests.fakes.fake_server import FakeServer
from tests.unit.controllers.binding.things import RWO, a_claim, a_class

UID = "0000-1111"


class ProvisionerWorld:
    """One class, `gold`; its parameters may be changed at any time."""

    def __init__(self, provisioner: str, parameters: Mapping[str, str]) -> None:
        self.clock = VirtualClock()
        self.server = FakeServer(self.clock)
        self.client = FakeClient(self.server, self.clock)
        self.provisioner = provisioner
        self.parameters = dict(parameters)
        self.server.create(StorageClass, self._class_document())

    def add_secret(self, name: str, entries: Mapping[str, str], *, type_: str = "") -> None:
        data = {key: base64.b64encode(value.encode()).decode() for key, value in entries.items()}
        metadata = {"name": name, "namespace": "default"}
        self.server.create(
            Secret, {"metadata": metadata, "type": type_ or self.provisioner, "data": data}
        )

    def claim(self, size: str = "1Gi", *modes: Any, **spec: Any) -> Claim:
        return a_claim(size, *(modes or (RWO,)), uid=UID, **spec)

    def order(self, claim: Claim | None = None, /, **parameters: str | None) -> Order:
        """With parameters that are others in this order alone; None: left out."""
        changed = {**self.parameters, **parameters}
        given = {key: value for key, value in changed.items() if value is not None}
        wanted = claim or self.claim()
        made_by = replace(a_class("gold", self.provisioner), parameters=given)
        return Order(f"pvc-{wanted.uid}", wanted, made_by)

    def volume(self, made: Doc) -> Volume:
        """As the binder writes what a provisioner has made."""
        spec = {
            **made["spec"],
            "storageClassName": "gold",
            "claimRef": {"namespace": "ns", "name": "c", "uid": UID},
        }
        metadata = {"name": f"pvc-{UID}", **made["metadata"]}
        return read_document({"metadata": metadata, "spec": spec}, Volume)

    def _class_document(self) -> Doc:
        return {
            "metadata": {"name": "gold"},
            "provisioner": self.provisioner,
            "parameters": self.parameters,
        }
