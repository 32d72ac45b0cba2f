"""The space and inodes that the files of a directory use."""

from typing import Final

import msgspec


class TreeUsage(msgspec.Struct, frozen=True):
    used_bytes: int
    inodes_used: int
    is_whole: bool = True  # False: there is more, which could not be counted

    def __add__(self, other: "TreeUsage") -> "TreeUsage":
        return TreeUsage(
            self.used_bytes + other.used_bytes,
            self.inodes_used + other.inodes_used,
            self.is_whole and other.is_whole,
        )


NOTHING: Final = TreeUsage(0, 0)
