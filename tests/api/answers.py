"""Reading answers: the parts of a refusal that clients act on."""

from tests.fakes.api import Answered


def refusal(answer: Answered) -> tuple[int, str]:
    """(code, reason) of a Status, whose shape is checked on the way."""
    status = answer.doc
    assert (status["kind"], status["apiVersion"]) == ("Status", "v1"), status
    assert status["status"] == "Failure", status
    assert status["code"] == answer.code, status
    return answer.code, status.get("reason", "")


def message(answer: Answered) -> str:
    return str(answer.doc["message"])


def causes(answer: Answered) -> list[tuple[str, str]]:
    """(reason, field) of every cause, in order."""
    found = answer.doc["details"].get("causes", [])
    return [(cause["reason"], cause.get("field", "")) for cause in found]
