"""A whole API per test, and the reconciler of stateful sets on it."""

from tests.api.conftest import api, pki  # noqa: F401  fixtures
