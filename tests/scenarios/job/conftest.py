"""A whole API per test, and the controllers of jobs on it."""

from tests.api.conftest import api, pki  # noqa: F401  fixtures
