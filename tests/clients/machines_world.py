"""Pods with exclusive volumes on three machines, and what somebody sees of them."""

import time

from tests.clients.csi import a_class_of
from tests.clients.kubectl import Kubectl
from tests.clients.machines import Machine, Machines
from tests.clients.manifests import Doc, a_claim
from tests.clients.nodes import NODE
from tests.clients.pods import a_script, mounting, of_claim
from tests.clients.shared_driver import NAME, faults
from tests.fakes.waiting import until

CLASS = "shared"
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
SCRIPT = 'echo started >>/data/starts; trap "exit 0" TERM; sleep 1000 & wait'
LONG = 40.0  # seconds; the machine may be busy


def a_controller(name: str) -> Doc:
    """One pod with an exclusive volume, which leaves a lost machine after a second."""
    keys = ("node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready")
    lost = [{"key": key, "operator": "Exists", "effect": "NoExecute"} for key in keys]
    using: Doc = {"volumes": [of_claim("data", name)], "container": mounting(data="/data")}
    soon = [{**one, "tolerationSeconds": 1} for one in lost]
    pod = a_script("x", SCRIPT, tolerations=soon, **using)
    template = {"metadata": {"labels": {"app": name}}, "spec": pod["spec"]}
    return {
        "apiVersion": "v1",
        "kind": "ReplicationController",
        "metadata": {"name": name},
        "spec": {"replicas": 1, "template": template},
    }


class MachinesWorld:
    """What somebody sees of the machines."""

    def __init__(self, kubectl: Kubectl, machines: Machines) -> None:
        self.kubectl = kubectl
        self.machines = machines
        self._since = len(machines.ledger.read())

    def state_of(self, node: str) -> str:
        words = self.kubectl("get", "node", node, "--no-headers", "--ignore-not-found").split()
        return words[1].partition(",")[0] if words else ""

    def running_on(self) -> dict[str, str]:
        """The nodes where pods run that nobody has deleted, by their controllers."""
        return {
            pod["metadata"]["labels"]["app"]: pod["spec"]["nodeName"]
            for pod in self.kubectl.doc("pods")["items"]
            if pod["status"].get("phase") == "Running"
            and "deletionTimestamp" not in pod["metadata"]
            and all(one["ready"] for one in pod["status"].get("containerStatuses", ()))
        }

    def volume_of(self, claim: str) -> str:
        volume = self.kubectl.field(".spec.volumeName", "pvc", claim)
        return self.kubectl.field(".spec.csi.volumeHandle", "pv", volume)

    def attached_to(self, claim: str) -> list[str]:
        volume = self.volume_of(claim)
        return [node for one, node in self.machines.ledger.attached() if one == volume]

    def starts(self, claim: str) -> int:
        """How often a pod has begun, by what is on the volume."""
        file = self.machines.ledger.content(self.volume_of(claim)) / "starts"
        return len(file.read_text().splitlines())

    async def all_ready(self) -> None:
        nodes = (NODE, *self.machines.workers)
        await until(lambda: all(self.state_of(node) == "Ready" for node in nodes), LONG)

    async def runs(self, claim: str, on: Machine | str) -> None:
        name = on if isinstance(on, str) else on.name
        await until(lambda: self.running_on().get(claim) == name, LONG)
        assert self.attached_to(claim) == [name]

    async def runs_somewhere(self, claim: str) -> None:
        """Where its volume is, and nowhere else."""
        await until(lambda: claim in self.running_on(), 2 * LONG)
        assert self.attached_to(claim) == [self.running_on()[claim]]

    async def begins(self, claim: str) -> tuple[Machine, Machine]:
        """A controller of this name, running; where it runs, and the other worker."""
        await self.all_ready()
        self.kubectl("create", "-f-", given=[a_claim(claim, "1Mi", storageClassName=CLASS)])
        self.kubectl("create", "-f-", given=[a_controller(claim)])
        await until(lambda: claim in self.running_on(), LONG)
        here = self.running_on()[claim]
        assert self.attached_to(claim) == [here]
        assert self.machines.ledger.mounted(self.volume_of(claim)) == (here,)
        other = next(name for name in self.machines.workers if name != here)
        return self.machines.workers[here], self.machines.workers[other]

    async def pause(self, seconds: float) -> None:
        """What happens meanwhile is the point: nothing that could be waited for."""
        end = time.monotonic() + seconds
        await until(lambda: time.monotonic() >= end, seconds + LONG)

    def vouch(self, node: str) -> None:
        """Say that its machine is off."""
        self.kubectl("taint", "node", node, f"{OUT_OF_SERVICE}=nodeshutdown:NoExecute")

    def unvouch(self, node: str) -> None:
        self.kubectl("taint", "node", node, f"{OUT_OF_SERVICE}:NoExecute-")

    def prepare(self) -> None:
        """Pods run on the workers alone: the first machine has the driver's controller."""
        if CLASS not in self.kubectl("get", "storageclass", "-o", "name"):
            self.kubectl("create", "-f-", given=[a_class_of(NAME, CLASS)])
            self.kubectl("cordon", NODE)

    async def ends(self) -> None:
        """Every controller is deleted, and every volume detached."""
        self.kubectl("delete", "replicationcontroller", "--all", "--wait=false")
        await until(lambda: not self.machines.ledger.attached(), 2 * LONG)

    def check(self) -> None:
        """No volume was attached twice, or taken away from a machine that had it mounted."""
        entries = self.machines.ledger.read()
        found = list(faults(entries, self._since))
        told = "\n".join(map(str, [*found, *entries[self._since :]]))
        assert not found, told
