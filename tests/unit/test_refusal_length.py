"""How much of what a client has sent a refusal repeats."""

from mooring.errors import MOST_TOLD, BadRequest, Invalid


def test_a_refusal_repeats_the_beginning_of_what_was_sent() -> None:
    long = "x" * 3_000_000
    refused = Invalid(long, details={"name": long}, causes=[{"field": long, "message": "short"}])
    status = refused.status()
    texts = (status["message"], status["details"]["name"], status["details"]["causes"][0]["field"])
    assert set(texts) == {"x" * MOST_TOLD + "..."}
    assert status["details"]["causes"][0]["message"] == "short"


def test_a_short_refusal_is_told_as_it_is() -> None:
    assert BadRequest("no", details={"retryAfterSeconds": 1}).status()["message"] == "no"
