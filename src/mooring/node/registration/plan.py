"""What may be done about a socket."""

from pathlib import Path

import msgspec


class SocketId(msgspec.Struct, frozen=True):
    """The same path with another of these is another socket."""

    device: int
    inode: int
    made: int  # nanoseconds; being talked to does not change it


class Register(msgspec.Struct, frozen=True):
    """Ask what is behind the socket; what was there before counts no more."""

    socket: Path
    identity: SocketId


class Unregister(msgspec.Struct, frozen=True):
    socket: Path


Step = Register | Unregister
