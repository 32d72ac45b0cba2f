"""A whole API per test, and the controllers of deployments and replica sets on it."""

from tests.api.conftest import api, pki  # noqa: F401  fixtures
