"""`Status`: the API server's answer to a refused request."""

from mooring.model.wire import Wire


class StatusCause(Wire, frozen=True):
    reason: str = ""
    message: str = ""
    field: str = ""


class StatusDetails(Wire, frozen=True):
    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[StatusCause, ...] = ()
    retry_after_seconds: int = 0


class Status(Wire, frozen=True):
    status: str = ""
    message: str = ""
    reason: str = ""
    details: StatusDetails | None = None
    code: int = 0

    @property
    def is_success(self) -> bool:
        return self.status == "Success"
