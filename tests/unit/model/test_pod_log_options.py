"""Which options of a log make sense."""

import pytest

from mooring.model.pod_log_options import PodLogOptions, validate_pod_log_options

SENSELESS = {
    "fewer than no lines": (
        PodLogOptions(tail_lines=-1),
        "tailLines: Invalid value: -1: must be greater than or equal to 0",
    ),
    "no bytes": (
        PodLogOptions(limit_bytes=0),
        "limitBytes: Invalid value: 0: must be greater than 0",
    ),
    "no seconds": (
        PodLogOptions(since_seconds=0),
        "sinceSeconds: Invalid value: 0: must be greater than 0",
    ),
    "two beginnings": (
        PodLogOptions(since_seconds=1, since_time=1),
        "Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified",
    ),
    "no such stream": (
        PodLogOptions(stream="Stdin"),
        'stream: Unsupported value: "Stdin": supported values: "All", "Stderr", "Stdout"',
    ),
    "the last lines of one stream": (
        PodLogOptions(stream="Stdout", tail_lines=1),
        "Forbidden: `tailLines` and a specific `stream` may not be specified together",
    ),
}


@pytest.mark.parametrize(("options", "complaint"), SENSELESS.values(), ids=SENSELESS)
def test_options_that_make_no_sense(options: PodLogOptions, complaint: str) -> None:
    assert [str(error).removeprefix(": ") for error in validate_pod_log_options(options)] == [
        complaint
    ]


def test_all_others_do() -> None:
    assert not list(validate_pod_log_options(PodLogOptions()))
    assert not list(validate_pod_log_options(PodLogOptions(stream="Stderr", since_time=0)))
    assert not list(validate_pod_log_options(PodLogOptions(tail_lines=0, limit_bytes=1)))
