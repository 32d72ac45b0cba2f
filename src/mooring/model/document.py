"""Documents: API objects as decoded JSON, not yet as Structs."""

from typing import Any

Doc = dict[str, Any]
