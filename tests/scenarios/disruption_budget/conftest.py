"""A whole API per test, and the disruption controller on it."""

from tests.api.conftest import api, pki  # noqa: F401  fixtures
