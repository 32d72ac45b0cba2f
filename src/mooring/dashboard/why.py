"""Why an object waits, as `mooring why` says it."""

import msgspec

from mooring.client.http import HttpClient
from mooring.clock import Clock
from mooring.dashboard.looks import Subject
from mooring.host.blocking import in_thread
from mooring.why.answer import Answer, Ref
from mooring.why.explain import explain
from mooring.why.read import read_world
from mooring.why.told import sentence


class Why:
    """`Explain`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def __call__(self, client: HttpClient, subject: Subject) -> Answer:
        key = subject.key
        asked = Ref(subject.kind.resource.kind, key.name, key.namespace)
        world = await read_world(client, asked)
        # In a thread: over a whole cluster it takes a while, and in `up` others are served, too.
        return _shown(await in_thread(explain, world, asked, self._clock.now()))


def _shown(answer: Answer) -> Answer:
    """With sentences of a bounded length: drivers and events may be quoted in them."""
    replace = msgspec.structs.replace
    links = tuple(replace(link, says=sentence(link.says)) for link in answer.links)
    return replace(answer, summary=sentence(answer.summary), links=links)
