"""What attachments tell those who wait for them."""

import pytest

from mooring.model.attachment import (
    Attachment,
    AttachmentError,
    AttachmentMeta,
    AttachmentSpec,
    AttachmentStatus,
)
from mooring.plugins.csi.attachment_wait import (
    Done,
    Failed,
    NotYet,
    Outcome,
    attach_timed_out,
    detach_timed_out,
    judge_attach,
    judge_detach,
)

BOOM = AttachmentError(message="boom")


def attachment(status: AttachmentStatus, deleted: str | None = None) -> Attachment:
    metadata = AttachmentMeta(name="a", deletion_timestamp=deleted)
    return Attachment(metadata=metadata, spec=AttachmentSpec("d", "n1"), status=status)


ATTACHES: dict[str, tuple[Attachment, Outcome]] = {
    "nothing said": (attachment(AttachmentStatus()), NotYet()),
    "attached": (attachment(AttachmentStatus(attached=True)), Done()),
    "attached, with an old error": (
        attachment(AttachmentStatus(attached=True, attach_error=BOOM)),
        Done(),
    ),
    "an error": (attachment(AttachmentStatus(attach_error=BOOM)), Failed("boom")),
    "on its way out, though attached": (
        attachment(AttachmentStatus(attached=True), "2026-01-02T03:04:05Z"),
        Failed("volume attachment is being deleted"),
    ),
}
DETACHES: dict[str, tuple[Attachment | None, Outcome]] = {
    "gone": (None, Done()),
    "still there": (attachment(AttachmentStatus(attached=True)), NotYet()),
    "an error": (attachment(AttachmentStatus(detach_error=BOOM)), Failed("boom")),
}


@pytest.mark.parametrize(("given", "then"), ATTACHES.values(), ids=ATTACHES)
def test_attach(given: Attachment, then: Outcome) -> None:
    assert judge_attach(given) == then


@pytest.mark.parametrize(("given", "then"), DETACHES.values(), ids=DETACHES)
def test_detach(given: Attachment | None, then: Outcome) -> None:
    assert judge_detach(given) == then


def test_too_late() -> None:
    words = "timed out waiting for external-attacher of d CSI driver to {} volume h"
    assert attach_timed_out("d", "h").message == words.format("attach")
    assert detach_timed_out("d", "h").message == words.format("detach")
