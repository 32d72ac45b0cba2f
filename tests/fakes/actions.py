"""What a `FakeServer` does when something is posted to a part of an object."""

from typing import Any, TypeVar

from mooring.client.contract import Action
from mooring.errors import Conflict, NotFound
from mooring.model.keys import Key
from mooring.model.meta import ApiObject
from mooring.model.pod import Pod
from tests.fakes.fake_server import FakeServer

Doc = dict[str, Any]
T = TypeVar("T", bound=ApiObject)

SUCCESS = {"kind": "Status", "apiVersion": "v1", "status": "Success", "code": 201}


def act(server: FakeServer, kind: type[T], key: Key, action: Action, doc: Doc) -> Doc:
    seen = server.get(kind, key)
    match action:
        case Action.BINDING if isinstance(seen, Pod):
            if seen.is_scheduled or seen.is_deleting:
                raise Conflict(f'Operation cannot be fulfilled on pods/binding "{key.name}"')
            _check_uid(seen, doc)
            node = doc["target"]["name"]
            scheduled = [{"type": "PodScheduled", "status": "True"}]
            server.patch(seen, {"spec": {"nodeName": node}}, {"conditions": scheduled})
            return SUCCESS
        case Action.EVICTION if isinstance(seen, Pod):
            server.delete(seen, doc.get("deleteOptions", {}).get("gracePeriodSeconds"))
            return SUCCESS
        case Action.TOKEN if seen.resource.plural == "serviceaccounts":
            _check_uid(seen, doc)
            return {**doc, "status": {"token": f"token-of-{key.name}"}}
        case _:
            raise NotFound("the server could not find the requested resource")


def _check_uid(seen: ApiObject, doc: Doc) -> None:
    if doc["metadata"].get("uid", seen.uid) != seen.uid:
        raise Conflict(f'the UID in the precondition does not match "{seen.name}"')
