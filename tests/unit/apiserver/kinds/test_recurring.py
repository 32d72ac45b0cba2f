"""Names that recur: judged once, and rightly every time."""

import pytest

from mooring.apiserver.kinds.recurring import LONGEST, is_good
from mooring.model.names import dns_subdomain, qualified_name

JUDGED = {
    "a good key": (qualified_name, "example.com/a", True),
    "a key that is no class name": (qualified_name, "Upper_Case", True),
    "a class name that is not good": (dns_subdomain, "Upper_Case", False),
    "no name": (dns_subdomain, "", False),
    "as long as a name may be": (dns_subdomain, "a" * LONGEST, True),
    "too long to be remembered, let alone good": (dns_subdomain, "a" * (LONGEST + 1), False),
}


@pytest.mark.parametrize(("rule", "name", "then"), JUDGED.values(), ids=JUDGED)
def test_judged_the_same_the_first_time_and_later(rule: object, name: str, *, then: bool) -> None:
    assert callable(rule)
    assert [is_good(rule, name), is_good(rule, name)] == [then, then]
