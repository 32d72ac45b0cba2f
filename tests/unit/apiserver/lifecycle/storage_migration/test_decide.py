"""Migrations of one resource: which runs, what they say, and what a definition loses by them."""

from typing import Any

import pytest

from mooring.apiserver.kinds.storage_version_migration import (
    LONGEST_MESSAGE,
    STORAGE_VERSION_MIGRATION,
)
from mooring.apiserver.lifecycle.storage_migration.decide import (
    Begin,
    Count,
    Finish,
    Mark,
    Migrate,
    decide,
    failed,
    finished,
    marked,
    migrated,
    migrating,
    running,
    succeeded,
)
from mooring.model.document import Doc

EARLY, NOW, LATER = "2026-01-01T00:00:00Z", "2026-01-02T03:04:05Z", "2026-01-02T03:04:06Z"


def a_migration(name: str = "m", created: str = EARLY, **status: Any) -> Doc:
    resource = {"group": "example.com", "resource": "widgets"}
    doc: Doc = {
        "metadata": {"name": name, "creationTimestamp": created},
        "spec": {"resource": resource},
    }
    return {**doc, "status": status} if status else doc


def said(doc: Doc) -> list[tuple[str, str, str]]:
    return [(one["type"], one["status"], one["message"]) for one in doc["status"]["conditions"]]


WAITING = a_migration()
RUNNING = running(WAITING, NOW)
MARKED = marked(RUNNING, 7)
ENDLESS = {**RUNNING, "status": {**RUNNING["status"], "resourceVersion": "9" * 5000}}
DONE = succeeded(MARKED, NOW, Count(0, 3))
GONE_WRONG = failed(MARKED, NOW, "why")

STEPS: dict[str, tuple[list[Doc], list[Any]]] = {
    "the first begins": ([WAITING], [Begin(WAITING)]),
    "the older of two begins": (
        [a_migration("a", LATER), a_migration("b", EARLY)],
        [Begin(a_migration("b", EARLY))],
    ),
    "of two as old as each other, the first by name": (
        [a_migration("b"), a_migration("a")],
        [Begin(a_migration("a"))],
    ),
    "one that runs asks until which version": ([RUNNING], [Mark(RUNNING)]),
    "one that knows it goes on": ([MARKED], [Migrate(MARKED, 7)]),
    "any number may stand there": ([ENDLESS], [Migrate(ENDLESS, 10**19)]),
    "the next waits for the one that runs": (
        [a_migration("next", LATER), MARKED],
        [Migrate(MARKED, 7)],
    ),
    "one that succeeded is finished, and the next begins": (
        [DONE, a_migration("next", LATER)],
        [Finish(DONE, succeeded=True), Begin(a_migration("next", LATER))],
    ),
    "one that failed is finished": ([GONE_WRONG], [Finish(GONE_WRONG, succeeded=False)]),
    "what has ended is left alone": ([finished(DONE, NOW), finished(GONE_WRONG, NOW)], []),
    "nothing": ([], []),
}


@pytest.mark.parametrize(("migrations", "steps"), STEPS.values(), ids=STEPS)
def test_steps(migrations: list[Doc], steps: list[Any]) -> None:
    assert list(decide(migrations)) == steps


def test_it_says_how_far_it_is() -> None:
    assert said(RUNNING) == [("Running", "True", "The migration is running")]
    assert said(running(RUNNING, NOW, Count(2, 3))) == [
        ("Running", "True", "The migration is running, 2/3 objects not yet migrated")
    ]
    assert said(running(RUNNING, NOW, Count(2, 3), "away")) == [
        (
            "Running",
            "True",
            "The migration is running, 2/3 objects not yet migrated; transient error: away",
        )
    ]


def test_what_it_says_when_it_has_succeeded() -> None:
    assert DONE["status"]["resourceVersion"] == "7"
    assert said(finished(DONE, LATER)) == [
        ("Running", "False", "Migration completed"),
        ("Succeeded", "True", "Migration completed"),
    ]
    assert said(DONE)[0][2] == "The migration is running, 3 objects verified migrated"


def test_what_it_says_when_it_has_failed() -> None:
    assert said(failed(MARKED, NOW, "why", Count(1, 3))) == [
        ("Running", "True", "The migration is running, 1/3 objects not yet migrated"),
        ("Failed", "True", "1/3 not yet migrated. why"),
    ]


def test_what_it_says_may_be_written_back_however_long_the_trouble_is() -> None:
    long = "ü" * LONGEST_MESSAGE
    for doc in (running(RUNNING, NOW, Count(1, 3), long), failed(MARKED, NOW, long)):
        assert not list(STORAGE_VERSION_MIGRATION.validate_status(doc, doc))


def test_since_when_is_kept_while_the_status_is() -> None:
    more = running(RUNNING, LATER, Count(1, 2))
    assert more["status"]["conditions"][0]["lastTransitionTime"] == NOW
    assert finished(DONE, LATER)["status"]["conditions"][0]["lastTransitionTime"] == LATER


@pytest.mark.parametrize("ended", [DONE, GONE_WRONG, finished(DONE, NOW)])
def test_of_what_has_ended_a_slower_server_says_nothing(ended: Doc) -> None:
    assert running(ended, LATER, Count(1, 3)) == ended
    assert marked(ended, 99) == ended
    assert succeeded(ended, LATER, Count(0, 3)) == ended
    assert failed(ended, LATER, "why", Count(1, 3)) == ended


def a_definition(generation: int = 4) -> Doc:
    versions = [{"name": "v1", "storage": False}, {"name": "v2", "storage": True}]
    established = {"type": "Established", "status": "True"}
    status = {"storedVersions": ["v1", "v2"], "conditions": [established]}
    metadata = {"name": "widgets.example.com", "generation": generation}
    return {"metadata": metadata, "spec": {"versions": versions}, "status": status}


def test_a_definition_loses_its_older_versions_after_a_success() -> None:
    during = migrating(a_definition(), "m", NOW)
    assert during["status"]["storedVersions"] == ["v1", "v2"]
    after = migrated(during, "m", LATER, succeeded=True)
    assert after["status"]["storedVersions"] == ["v2"]
    assert after["status"]["conditions"] == [
        {"type": "Established", "status": "True"},
        {
            "type": "StorageMigrating",
            "status": "False",
            "reason": "MigrationSucceeded",
            "message": "The migration has succeeded and the stored versions have been updated",
            "lastTransitionTime": LATER,
            "observedGeneration": 4,
        },
    ]


def test_a_definition_that_was_changed_meanwhile_keeps_them() -> None:
    during = migrating(a_definition(), "m", NOW)
    during["metadata"]["generation"] = 5
    after = migrated(during, "m", LATER, succeeded=True)
    assert after["status"]["storedVersions"] == ["v1", "v2"]
    assert after["status"]["conditions"][1]["message"] == (
        "The migration has succeeded but the stored versions have not been updated due to a "
        "generation mismatch"
    )


def test_a_definition_keeps_them_after_a_failure() -> None:
    after = migrated(migrating(a_definition(), "m", NOW), "m", LATER, succeeded=False)
    assert after["status"]["storedVersions"] == ["v1", "v2"]
    assert after["status"]["conditions"][1]["reason"] == "MigrationFailed"


def test_a_slower_server_takes_no_versions_away_for_the_next_migration() -> None:
    after = migrated(migrating(a_definition(), "m", NOW), "m", NOW, succeeded=True)
    after["metadata"]["generation"] = 5
    after["status"]["storedVersions"] = ["v2", "v3"]
    assert migrated(after, "m", LATER, succeeded=True) == after
    during = migrating(after, "next", NOW)
    assert migrated(during, "m", LATER, succeeded=True) == during
