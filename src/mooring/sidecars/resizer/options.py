"""How a resizer does its work; the defaults are those of external-resizer."""

import msgspec


class ResizerOptions(msgspec.Struct, frozen=True):
    call_seconds: float = 10.0  # how long a driver may take for a call
    workers: int = 10  # claims that are worked on at once, of one driver
    retry_seconds: float = 1.0  # after the first failure; doubled after each further one,
    retry_cap_seconds: float = 300.0  # up to this, which is also the pause after "infeasible"
    handle_in_use: bool = True  # of drivers that grow no volume in use: wait for its pods to end
    extra_modify_metadata: bool = False  # send the names of claim and volume


AS_UPSTREAM = ResizerOptions()
