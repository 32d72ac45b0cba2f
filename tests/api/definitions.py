"""Definitions of custom resources, made and looked at over the API."""

from tests.fakes.api import Answered, ApiUnderTest, Doc
from tests.fakes.clock import settle
from tests.fakes.definitions import DEFINITIONS, a_definition


async def define(api: ApiUnderTest, definition: Doc | None = None) -> Doc:
    """Create a definition; what it has become when the server has looked at it."""
    definition = definition or a_definition()
    made = await api.post(DEFINITIONS, definition)
    assert made.code == 201, made.text
    await settle()
    return (await api.get(f"{DEFINITIONS}/{definition['metadata']['name']}")).doc


def conditions(definition: Doc) -> dict[str, tuple[str, str]]:
    found = definition["status"]["conditions"] or []
    return {each["type"]: (each["status"], each["reason"]) for each in found}


async def created(api: ApiUnderTest, path: str, doc: Doc) -> Doc:
    made = await api.post(path, doc)
    assert made.code == 201, made.text
    return made.doc


async def put_definition(api: ApiUnderTest, definition: Doc) -> Answered:
    answer = await api.put(f"{DEFINITIONS}/{definition['metadata']['name']}", definition)
    await settle()
    return answer
