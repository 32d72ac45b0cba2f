"""All controllers on a whole API, with a client that troubles come to; and what must never happen.

`World.binder()` runs them as one process; leaving it kills them. `check` looks at everything there
is: no claim without its volume, no volume with two claims, nothing gone that was to be kept.
"""

from typing import Any

from mooring.apiserver.api.in_process import InProcessApi
from mooring.apiserver.auth.user import CONTROLLERS
from mooring.apiserver.documents.document import decode
from mooring.apiserver.patching.merge import merge_patch
from mooring.apiserver.store.contract import Change, Entry
from mooring.apiserver.verbs.changing import stored_form
from mooring.client.local import LocalClient
from mooring.controllers.expansion import run as expansion
from mooring.model.document import Doc
from mooring.reconcile.loops import Loops
from tests.fakes.objects import CLAIMS, PODS, VOLUMES
from tests.scenarios.binding.cluster import Cluster
from tests.scenarios.faults.trouble import Troubled
from tests.scenarios.neighbours import NO_OPTIONS

RECYCLER = "recycler-for-"


class World(Cluster):
    def __init__(self, api: Any) -> None:
        super().__init__(api)
        self.recycles_with_pods = True
        self.two_writes = False  # as over HTTP, an object and its status are written one by one
        self.client: Troubled | None = None  # of the process that runs, or ran last
        self.wiped: list[str] = []  # names of volumes, as often as a pod emptied them
        self.patience = 0  # seconds that pass after whatever people do
        self._kept: set[str] = set()

    @property
    def trouble(self) -> Troubled:
        assert self.client is not None, "nobody runs"
        return self.client

    def a_client(self, writes: int) -> Troubled:
        local = LocalClient(InProcessApi(self.api.parts.backend, CONTROLLERS))
        self.client = Troubled(local, writes, two_writes=self.two_writes)
        self.plugin.live = self.client.live
        return self.client

    def beside(self, loops: Loops) -> None:
        expansion.build(loops, NO_OPTIONS)

    async def settle(self) -> None:
        await super().settle()
        for _ in range(self.patience):
            self.trouble.come_back()
            await self.clock.advance(1)
            await super().settle()

    # what is there

    async def all(self, collection: str) -> list[Doc]:
        return list((await self.api.get(collection)).doc["items"])

    async def told(self, *reasons: str) -> list[tuple[str, str, str]]:
        return list(dict.fromkeys(await super().told(*reasons)))

    async def shown(self) -> tuple[list[str], list[str]]:
        """All volumes and all claims, in the words of `volume` and `claim`."""
        return (
            [await self.volume(doc["metadata"]["name"]) for doc in await self.all(VOLUMES)],
            [await self.claim(doc["metadata"]["name"]) for doc in await self.all(CLAIMS)],
        )

    async def check(self) -> None:
        """What holds at every moment, whatever was cut where."""
        volumes = {doc["metadata"]["name"]: doc for doc in await self.all(VOLUMES)}
        claims = await self.all(CLAIMS)
        self._kept |= {
            name
            for name, doc in volumes.items()
            if doc["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
        }
        assert self._kept <= set(volumes), "what was to be kept is gone"
        taken = [doc["spec"]["volumeName"] for doc in claims if doc["status"]["phase"] == "Bound"]
        assert len(taken) == len(set(taken)), "one volume, two claims"
        for claim in claims:
            if claim["status"]["phase"] == "Bound":
                volume = volumes[claim["spec"]["volumeName"]]
                reference = volume["spec"].get("claimRef", {})
                assert reference.get("uid") == claim["metadata"]["uid"], "bound to another's volume"

    # what people and others do

    async def run_pods(self) -> None:
        """What nodes do with the pods that wipe volumes."""
        for pod in await self.all(PODS):
            name = pod["metadata"]["name"]
            if name.startswith(RECYCLER) and pod["status"].get("phase") == "Pending":
                self.wiped.append(name.removeprefix(RECYCLER))
                await self.patch(PODS, name, {"status": {"phase": "Succeeded"}}, "/status")

    async def scribble(self, resource: Any, name: str, change: Doc) -> None:
        """Write into the database behind the server's back: nothing is checked."""
        kind = self.api.parts.backend.kinds.find(resource.group, resource.version, resource.plural)
        assert kind is not None

        def decide(entry: Entry | None) -> Change:
            assert entry is not None
            return stored_form(kind, merge_patch(decode(kind, entry), change))

        place = f"default/{name}" if resource.namespaced else name
        await self.api.parts.backend.store.write(kind.store_table, place, decide)
        await self.settle()
