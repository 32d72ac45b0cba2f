"""Messages that print without their secrets."""

from google.protobuf import text_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from mooring.csi.proto import csi_pb2
from mooring.csi.secrets import STRIPPED, TOKENS_KEY, Secrets


class Stripped:
    """A message that prints without its secrets. Nothing is done until it is printed."""

    __slots__ = ("_message", "_secrets")

    def __init__(self, message: Message, secrets: Secrets) -> None:
        self._message = message
        self._secrets = secrets

    def __str__(self) -> str:
        copy = type(self._message)()
        copy.CopyFrom(self._message)
        _strip(copy)
        return self._secrets.mask(text_format.MessageToString(copy, as_one_line=True))

    __repr__ = __str__


def _strip(message: Message) -> None:
    for field, value in message.ListFields():
        if _is_map_of_text(field):
            for key in value:
                if _is_secret(field) or key == TOKENS_KEY:
                    value[key] = STRIPPED
        elif field.name == "mount_flags":  # not marked, but the spec says it may be sensitive
            value[:] = [STRIPPED] * len(value)
        elif field.message_type is not None:
            for part in value if field.is_repeated else (value,):
                _strip(part)


def _is_secret(field: FieldDescriptor) -> bool:
    marks = dict(field.GetOptions().ListFields())
    return bool(marks.get(csi_pb2.csi_secret))


def _is_map_of_text(field: FieldDescriptor) -> bool:
    entry = field.message_type
    return entry is not None and entry.GetOptions().map_entry
