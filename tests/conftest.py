"""How property tests judge time: not at all.

An example that takes long says something of the machine's load, and nothing of the code. What has
to be fast is measured by `make bench`; what hangs is ended by pytest's own limit.
"""

from hypothesis import HealthCheck, settings

settings.register_profile("any load", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any load")
