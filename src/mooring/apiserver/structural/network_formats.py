"""The formats of strings that name something on a network, as Go's net packages read them."""

import re
from ipaddress import IPv6Address

_scheme = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:").match
_bad_escape = re.compile(r"%(?![0-9a-fA-F]{2})").search
_control = re.compile(r"[\x00-\x1f\x7f]").search
_authority = re.compile(
    r"(?:[^@/?#\[\]<>\"\s]*@)?(?:\[[0-9a-fA-F:.%]+\]|[^\[\]:\s<>\"\\^`{|}]*)(?::[0-9]*)?"
).fullmatch
_mac = re.compile(
    r"[0-9a-fA-F]{2}(?:(?::[0-9a-fA-F]{2})+|(?:-[0-9a-fA-F]{2})+)|[0-9a-fA-F]{4}(?:\.[0-9a-fA-F]{4})+"
).fullmatch
_MAC_BYTES = (6, 8, 20)
_ATOM = r"[^\s@<>()\[\]:;,.\"\\\x00-\x1f\x7f]+"
_ADDRESS = (
    rf'(?:{_ATOM}(?:\.{_ATOM})*|"(?:[^"\\\r\n]|\\.)*")@(?:{_ATOM}(?:\.{_ATOM})*|\[[^\[\]\\\s]+\])'
)
_DISPLAY = rf'(?:"(?:[^"\\\r\n]|\\.)*"|{_ATOM}(?:[ .]+{_ATOM})*\.?)'
_email = re.compile(rf"\s*(?:{_ADDRESS}|(?:{_DISPLAY})?\s*<{_ADDRESS}>)\s*").fullmatch
_MOST_EMAIL = 4_096  # characters that are looked at


def is_uri(text: str) -> bool:
    """An absolute URI, or an absolute path."""
    if text == "*":
        return True
    if not text or _control(text):
        return False
    scheme = _scheme(text)
    rest = text[scheme.end() :] if scheme else text
    if not rest.startswith("/"):
        return scheme is not None
    rest = rest.partition("?")[0]
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        authority, slash, path = rest[2:].partition("/")
        if not _authority(authority):
            return False
        rest = slash + path
    return not _bad_escape(rest)


def is_email(text: str) -> bool:
    """`user@example.com`, with or without a name before it."""
    return len(text) <= _MOST_EMAIL and _email(text) is not None


def is_ipv4(text: str) -> bool:
    """Leading zeros are let pass, and so are IPv6 addresses that end in an IPv4 one."""
    return "." in text and (_is_dotted(text) or _is_colons(text))


def is_ipv6(text: str) -> bool:
    return _is_colons(text)


def is_cidr(text: str) -> bool:
    address, slash, bits = text.partition("/")
    if not slash or not bits.isascii() or not bits.isdigit() or len(bits) > 3:
        return False
    if _is_dotted(address):
        return int(bits) <= 32
    return _is_colons(address) and int(bits) <= 128


def is_mac(text: str) -> bool:
    found = _mac(text)
    return found is not None and sum(char not in ":-." for char in text) // 2 in _MAC_BYTES


def _is_dotted(text: str) -> bool:
    parts = text.split(".")
    return len(parts) == 4 and all(
        part.isascii() and part.isdigit() and len(part) <= 64 and int(part) <= 255 for part in parts
    )


def _is_colons(text: str) -> bool:
    if ":" not in text or "%" in text or len(text) > 45:
        return False
    try:
        IPv6Address(text)
    except ValueError:
        return False
    return True
