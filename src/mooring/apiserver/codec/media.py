"""The media types in which a body may come."""

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"

ACCEPTED = (JSON, YAML, PROTOBUF)
ACCEPTED_CUSTOM = (JSON, YAML)
"""For kinds that upstream serves from a CRD: they have no protobuf message."""


def media_type(content_type: str | None) -> str:
    """The bare media type of a header; without a header it is JSON."""
    if not content_type:
        return JSON
    return content_type.partition(";")[0].strip().lower()
