"""A whole API per test, and the reconciler of replication controllers on it."""

from tests.api.conftest import api, pki  # noqa: F401  fixtures
