"""The bytes of protobuf: varints, tags, lengths. Broken ones are ValueErrors."""

VARINT, FIXED64, CHUNK, GROUP, GROUP_END, FIXED32 = range(6)

_MOST_BITS = 63
_2_63, _2_64 = 2**63, 2**64


def read_varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """The unsigned number at `at`, and the place behind it."""
    if at < end and data[at] < 0x80:
        return data[at], at + 1  # as most are
    value = shift = 0
    while at < end:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >= _2_64:
                raise ValueError("proto: integer overflow")
            return value, at
        shift += 7
        if shift > _MOST_BITS:
            raise ValueError("proto: integer overflow")
    raise ValueError("unexpected EOF")


def read_chunk(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Where the bytes behind the length at `at` begin and stop."""
    if at < end and data[at] < 0x80:
        length, at = data[at], at + 1
    else:
        length, at = read_varint(data, at, end)
    stop = at + length
    if stop > end:
        raise ValueError("unexpected EOF")
    return at, stop


def read_tag(data: bytes, at: int, end: int) -> tuple[int, int, int]:
    """The number and wire type of a field, and the place behind."""
    if at < end and 8 <= data[at] < 0x80:
        return data[at] >> 3, data[at] & 7, at + 1
    tag, at = read_varint(data, at, end)
    number, wire = tag >> 3, tag & 7
    if number == 0 or number > 2**29 - 1:
        raise ValueError(f"proto: illegal tag {number} (wire type {wire})")
    return number, wire, at


def skip(data: bytes, at: int, end: int, wire: int) -> int:
    """Skip a value of an unknown field; returns the position after it. Groups are skipped whole."""
    depth = 0
    while True:
        match wire:
            case 0:  # VARINT
                _, at = read_varint(data, at, end)
            case 1:  # FIXED64
                at += 8
            case 2:  # CHUNK
                _, at = read_chunk(data, at, end)
            case 3:  # GROUP
                depth += 1
            case 4 if depth > 0:  # GROUP_END
                depth -= 1
            case 4:
                raise ValueError("proto: unexpected end of group")
            case 5:  # FIXED32
                at += 4
            case _:
                raise ValueError(f"proto: illegal wireType {wire}")
        if at > end:
            raise ValueError("unexpected EOF")
        if depth == 0:
            return at
        _, wire, at = read_tag(data, at, end)


def signed(value: int) -> int:
    """As an int64."""
    return value - _2_64 if value >= _2_63 else value


def signed32(value: int) -> int:
    """As an int32; what does not fit is cut off, as other decoders do."""
    value &= 0xFFFFFFFF
    return value - 2**32 if value >= 2**31 else value


def write_varint(value: int) -> bytes:
    """`value` may be negative, down to -2**63."""
    if value < 0:
        value += _2_64
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def write_number(number: int, value: int) -> bytes:
    return write_varint(number << 3 | VARINT) + write_varint(value)


def write_chunk(number: int, chunk: bytes) -> bytes:
    return write_varint(number << 3 | CHUNK) + write_varint(len(chunk)) + chunk
