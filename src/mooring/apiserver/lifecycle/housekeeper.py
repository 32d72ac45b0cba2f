"""The user that the API server itself writes as, and its pauses between tries."""

from mooring.apiserver.auth.user import MASTERS, User
from mooring.model.backoff import Backoff

HOUSEKEEPER = User("system:mooring:housekeeper", groups=(MASTERS,))

AGAIN = Backoff(first=0.1, cap=30.0)
"""The pauses between tries of what is refused, or fails."""
