from tests.api.conftest import api, pki  # noqa: F401  fixtures
