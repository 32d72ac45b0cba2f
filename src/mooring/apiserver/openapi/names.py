"""What messages are called in OpenAPI, and which kinds stand behind them."""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from mooring.apiserver.kinds.contract import Kind, Subresource
from mooring.apiserver.kinds.subresources import answers_in, subresources
from mooring.apiserver.schema.contract import Scalar, Schema
from mooring.apiserver.schema.releases import newest_name
from mooring.model.document import Doc

META = "io.k8s.apimachinery.pkg.apis.meta.v1"
EXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"

SCALAR_NAMES = {
    Scalar.QUANTITY: "io.k8s.apimachinery.pkg.api.resource.Quantity",
    Scalar.TIME: f"{META}.Time",
    Scalar.MICRO_TIME: f"{META}.MicroTime",
    Scalar.INT_OR_STRING: "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
    Scalar.FIELDS_V1: f"{META}.FieldsV1",
    Scalar.ANY: "io.k8s.apimachinery.pkg.runtime.RawExtension",
    Scalar.JSON_SCHEMA: f"{EXTENSIONS}.JSONSchemaProps",
}
"""Scalars with a JSON form of their own are definitions, like messages."""


def gvk(group: str, version: str, kind: str) -> Doc:
    return {"group": group, "version": version, "kind": kind}


def part_message(kind: Kind, part: Subresource, schema: Schema) -> str:
    """The message a subresource deals in; "" if it deals in something else than messages."""
    if part.kind == kind.kind:
        return kind.message
    group, version = answers_in(kind, part)
    message = f"{group.split('.')[0] or 'core'}.{version}.{part.kind}"
    return message if message in schema.messages else ""


class Names(msgspec.Struct, frozen=True):
    """The names used in all documents of one server."""

    packages: Mapping[str, str]  # those that are not called `io.k8s.api.<package>`
    kinds: Mapping[str, list[Doc]]  # by message: the group, version and kind it is served as

    def definition(self, message: str) -> str:
        package, _, name = newest_name(message).rpartition(".")
        return f"{self.packages.get(package, f'io.k8s.api.{package}')}.{name}"


def names(kinds: Iterable[Kind], schema: Schema) -> Names:
    packages = {"meta.v1": META, "apiextensions.v1": EXTENSIONS}
    served: dict[str, list[Doc]] = {}
    for kind in kinds:
        if kind.custom:
            package = kind.message.rpartition(".")[0]
            packages[package] = ".".join([*reversed(kind.group.split(".")), kind.version])
        for message, as_kind in _served(kind, schema):
            known = served.setdefault(message, [])
            if as_kind not in known:
                known.append(as_kind)
    return Names(packages, served)


def _served(kind: Kind, schema: Schema) -> Iterator[tuple[str, Doc]]:
    yield kind.message, gvk(kind.group, kind.version, kind.kind)
    for part in subresources(kind):
        message = part_message(kind, part, schema)
        if message:
            yield message, gvk(*answers_in(kind, part), part.kind)
