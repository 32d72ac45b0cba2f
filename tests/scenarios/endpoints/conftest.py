"""A whole API per test, and the controller of endpoints on it."""

from tests.api.conftest import api, pki  # noqa: F401  fixtures
