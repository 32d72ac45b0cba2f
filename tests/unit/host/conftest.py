"""Fixtures of the host layer's tests."""

from tests.fakes.programs import programs  # noqa: F401  a fixture
