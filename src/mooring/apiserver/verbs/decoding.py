"""From a request's body to a document, with warnings on unknown and duplicate fields."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from mooring.apiserver.codec.body import accepted_media, decode_document
from mooring.apiserver.codec.custom_body import decode_custom
from mooring.apiserver.codec.identity import Identity
from mooring.apiserver.limits.budgets import MOST_BODY_BYTES
from mooring.apiserver.request.options import WriteOptions, write_options
from mooring.apiserver.verbs.backend import Call
from mooring.errors import ApiError, BadRequest, TooLarge
from mooring.model.document import Doc


def check_size(call: Call) -> None:
    if call.request.too_large:
        raise TooLarge(f"Request entity too large: limit is {MOST_BODY_BYTES}")


def body_options(call: Call, word: str) -> WriteOptions:
    """The options of a write with a body; errors of the body's form or size come before those of
    the options."""
    accepted_media(call.request.header("content-type"), custom=call.kind.custom)
    check_size(call)
    return write_options(call.request.query, word)


def decode_body(
    call: Call, validation: str, *, message: str = "", kind: str = "", api_version: str = ""
) -> tuple[Doc, list[str]]:
    """The document, and the warnings that go with it. By default, of the call's own kind.

    Before: `body_options` was called.
    """
    structure = call.kind.structure
    if structure is not None and not message:
        wanted = Identity(call.kind.kind, call.kind.api_version, custom=True)
        content_type = call.request.header("content-type")
        custom = decode_custom(call.request.body, content_type, wanted, structure.node)
        return custom.doc, judge(call, custom.findings, validation)
    decoded = decode_document(
        call.request.body,
        call.request.header("content-type"),
        message or call.kind.message,
        kind=kind or call.kind.kind,
        api_version=api_version or call.kind.api_version,
        custom=call.kind.custom,
    )
    return decoded.doc, judge(call, decoded.findings, validation)


@contextmanager
def with_warnings(warnings: list[str]) -> Iterator[None]:
    """Send the warnings even when the write is refused, with those that were added until then."""
    try:
        yield
    except ApiError as error:
        error.warnings = tuple(warnings)
        raise


def judge(call: Call, findings: Sequence[str], validation: str) -> list[str]:
    """Unknown and duplicate fields: an error, warnings, or nothing, as `fieldValidation` asks."""
    if not findings or validation == "Ignore":
        return []
    if validation == "Strict":
        raise BadRequest(
            f'{call.kind.kind} in version "{call.kind.version}" cannot be handled as a '
            f"{call.kind.kind}: strict decoding error: {', '.join(findings)}"
        )
    return list(findings)
