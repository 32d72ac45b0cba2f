"""Commands of `mooring` that end by themselves, run as a user runs them."""

import subprocess

from tests.fakes.real_server import command

LONGEST = 60  # seconds


def mooring(*arguments: object, given: str = "") -> "subprocess.CompletedProcess[str]":
    """Run one to its end, whatever comes of it."""
    return subprocess.run(  # noqa: S603  our own program
        command(*map(str, arguments)),
        input=given,
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )


def done(*arguments: object, given: str = "") -> str:
    """What it said, when it succeeded; nothing was complained of."""
    ended = mooring(*arguments, given=given)
    assert (ended.returncode, ended.stderr) == (0, ""), (ended.returncode, ended.stderr)
    return ended.stdout


def refused(*arguments: object, given: str = "") -> str:
    """Its one line, without the name of the program."""
    ended = mooring(*arguments, given=given)
    assert ended.returncode == 1, ended.stdout
    line, end = ended.stderr.split("\n")
    assert end == ""
    return line.removeprefix("mooring: ")
