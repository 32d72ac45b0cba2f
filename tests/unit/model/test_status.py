"""Status: what a client learns from a refusal."""

from mooring.errors import Invalid
from mooring.model.field_error import required
from mooring.model.status import Status, StatusCause, StatusDetails
from mooring.model.wire import read_document


def test_a_refusal_as_the_server_sends_it() -> None:
    refusal = Invalid(
        "StorageClass is invalid",
        details={"name": "fast", "group": "storage.k8s.io", "kind": "StorageClass"},
        causes=[required("provisioner").cause()],
        retry_after=3,
    )
    assert read_document(refusal.status(), Status) == Status(
        status="Failure",
        message="StorageClass is invalid",
        reason="Invalid",
        code=422,
        details=StatusDetails(
            name="fast",
            group="storage.k8s.io",
            kind="StorageClass",
            causes=(StatusCause("FieldValueRequired", "Required value", "provisioner"),),
            retry_after_seconds=3,
        ),
    )


def test_success() -> None:
    assert read_document({"kind": "Status", "status": "Success"}, Status).is_success
    assert not read_document({"kind": "Status", "status": "Failure"}, Status).is_success
