"""Addresses that nobody else can reach, and so are no endpoints."""

import ipaddress
from collections.abc import Iterable

from mooring.model.field_error import FieldError, invalid

_LOOPBACK = "may not be in the loopback range (127.0.0.0/8, ::1/128)"
_LINK_LOCAL = "may not be in the link-local range (169.254.0.0/16, fe80::/10)"


def special_address_errors(path: str, given: str) -> Iterable[FieldError]:
    """Of an address that is one."""
    address = ipaddress.ip_address(given)
    if address.is_unspecified:
        yield invalid(path, given, f"may not be unspecified ({given})")
    if address.is_loopback:
        yield invalid(path, given, _LOOPBACK)
    if address.is_link_local:
        yield invalid(path, given, _LINK_LOCAL)
