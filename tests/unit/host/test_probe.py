"""What blkid says of a device."""

from pathlib import Path

import pytest

from mooring.errors import CommandFailed, HostError
from mooring.host.probe import (
    Contents,
    Empty,
    Holds,
    Partitions,
    describe,
    parse_export,
    probe,
)
from tests.fakes.programs import FakePrograms

DEVICE = Path("/dev/of-a-test")

OUTPUTS: dict[str, tuple[str, Contents]] = {
    "a file system": ("DEVNAME=/dev/a\nTYPE=ext4\n", Holds("ext4")),
    "something with a signature": ("DEVNAME=/dev/a\nTYPE=LVM2_member\n", Holds("LVM2_member")),
    "a partition table": ("DEVNAME=/dev/a\nPTTYPE=gpt\n", Partitions()),
    "partitions count more than a type": ("TYPE=ext4\nPTTYPE=dos\n", Partitions()),
    "an empty type is none": ("DEVNAME=/dev/a\nTYPE=\n", Empty()),
    "only a name": ("DEVNAME=/dev/a\n\n", Empty()),
}


@pytest.mark.parametrize(("output", "contents"), OUTPUTS.values(), ids=OUTPUTS)
def test_reading_blkid(output: str, contents: Contents) -> None:
    assert parse_export(output) == contents


BAD = {"no equals sign": "TYPE\n", "two of them": "TYPE=a=b\n"}


@pytest.mark.parametrize("output", BAD.values(), ids=BAD)
def test_output_that_cannot_be_read(output: str) -> None:
    with pytest.raises(HostError, match="blkid returns invalid output: TYPE"):
        parse_export(output)


def test_blkid_looks_at_the_device_itself(programs: FakePrograms) -> None:
    programs.add("blkid", "echo TYPE=xfs")
    assert probe(DEVICE) == Holds("xfs")
    assert programs.runs() == [f"blkid -p -s TYPE -s PTTYPE -o export {DEVICE}"]


def test_exit_2_is_nothing_found(programs: FakePrograms) -> None:
    programs.add("blkid", "exit 2")
    assert probe(DEVICE) == Empty()


@pytest.mark.parametrize("code", [1, 4, 8], ids="exit {}".format)
def test_any_other_failure_is_no_answer(programs: FakePrograms, code: int) -> None:
    programs.add("blkid", f"exit {code}")
    text = f"failed to get disk format of disk {DEVICE}: exit status {code}"
    with pytest.raises(CommandFailed, match=text):
        probe(DEVICE)


def test_without_blkid_nothing_is_known(programs: FakePrograms) -> None:
    programs.only_these()
    with pytest.raises(CommandFailed, match="blkid: executable file not found"):
        probe(DEVICE)


def test_the_names_of_contents() -> None:
    described = [describe(contents) for contents in (Empty(), Holds("xfs"), Partitions())]
    assert described == ["", "xfs", "unknown data, probably partitions"]
