"""Why an object waits, as `mooring why` says it."""

from mooring.client.http import HttpClient
from mooring.clock import Clock
from mooring.dashboard.looks import Subject
from mooring.why.answer import Answer, Ref
from mooring.why.explain import explain
from mooring.why.read import read_world


class Why:
    """`Explain`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def __call__(self, client: HttpClient, subject: Subject) -> Answer:
        key = subject.key
        asked = Ref(subject.kind.resource.kind, key.name, key.namespace)
        return explain(await read_world(client, asked), asked, self._clock.now())
