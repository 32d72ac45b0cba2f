"""Documents: API objects as decoded JSON, before anything is made of them."""

from typing import Any

Doc = dict[str, Any]
