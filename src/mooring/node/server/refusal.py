"""How a node refuses: with a code and one line of text, as kubelet does."""

from mooring.errors import MooringError


class Refusal(MooringError):
    """A request that is not served; the text is for the client."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text
