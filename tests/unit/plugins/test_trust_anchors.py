"""Several trust bundles in one file."""

import base64
from itertools import permutations

import pytest

from mooring.plugins.trust_anchors import merged


def a_certificate(number: int) -> str:
    """PEM of something long enough for two lines."""
    lines = base64.encodebytes(bytes([number]) * 70).decode().replace("\n", "")
    body = f"{lines[:64]}\n{lines[64:]}"
    return f"-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n"


ONE, TWO, THREE = (a_certificate(number) for number in (1, 2, 3))


def test_each_certificate_is_there_once_as_pem() -> None:
    assert merged([ONE + TWO, TWO]).decode() == ONE + TWO


def test_the_order_of_bundles_does_not_matter() -> None:
    assert len({merged(order) for order in permutations([ONE, TWO, THREE])}) == 1


NORMALIZED = {
    "lines that end in the other way": ONE.replace("\n", "\r\n"),
    "text around it": f"my own CA\n{ONE}that was it\n",
    "other line lengths": ONE.replace("\n", "", 3)
    .replace("E-----", "E-----\n", 1)
    .replace("-----END", "\n-----END"),
    "an end before any beginning": f"-----END CERTIFICATE-----\n{ONE}",
    "a beginning without end": f"{ONE}-----BEGIN CERTIFICATE-----\nAAAA\n",
    "a block that is not base64": f"-----BEGIN X-----\n!!!\n-----END X-----\n{ONE}",
    "an empty block": f"-----BEGIN X-----\n-----END X-----\n{ONE}",
}


@pytest.mark.parametrize("bundle", NORMALIZED.values(), ids=[*NORMALIZED])
def test_only_certificates_are_left(bundle: str) -> None:
    assert merged([bundle]).decode() == ONE


def test_nothing_becomes_an_empty_file() -> None:
    assert merged([]) == merged([""]) == b""
