"""The compiled protocol is that of the `.proto` files, and those say what the spec says."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from google.protobuf import descriptor_pb2
from google.protobuf.descriptor import Descriptor, FileDescriptor
from grpc_tools import protoc

import mooring.csi.proto
from mooring.csi.proto import csi_pb2, pluginregistration_pb2

FOLDER = Path(mooring.csi.proto.__path__[0])
ROOT = FOLDER.parents[2]
COMPILED = {"csi": csi_pb2.DESCRIPTOR, "pluginregistration": pluginregistration_pb2.DESCRIPTOR}


def compile_to(target: Path, *options: str) -> None:
    sources = [str(FOLDER / f"{name}.proto") for name in COMPILED]
    include = Path(protoc.__file__).parent / "_proto"
    arguments = ["protoc", f"-I{ROOT}", f"-I{include}", *options, *sources]
    assert protoc.main(arguments) == 0


@pytest.mark.parametrize("name", COMPILED)
def test_the_compiled_files_are_current(name: str, tmp_path: Path) -> None:
    """On failure: make proto. Compared by meaning, so that any version of the compiler will do."""
    compile_to(tmp_path, f"--descriptor_set_out={tmp_path / 'set'}")
    compiled = descriptor_pb2.FileDescriptorSet.FromString((tmp_path / "set").read_bytes())
    wanted = next(file for file in compiled.file if file.name.endswith(f"/{name}.proto"))
    found = descriptor_pb2.FileDescriptorProto()
    COMPILED[name].CopyToProto(found)
    assert _normal(found) == _normal(wanted)


@pytest.mark.parametrize("name", COMPILED)
def test_the_types_are_current(name: str, tmp_path: Path) -> None:
    compile_to(tmp_path, f"--python_out={tmp_path}", f"--pyi_out={tmp_path}")
    inside = FOLDER.relative_to(ROOT)
    compiler = (tmp_path / inside / f"{name}_pb2.py").read_text().splitlines()[4]
    if compiler not in (FOLDER / f"{name}_pb2.py").read_text():
        pytest.skip(f"another compiler writes types in another way: {compiler}")
    assert (FOLDER / f"{name}_pb2.pyi").read_text() == (
        tmp_path / inside / f"{name}_pb2.pyi"
    ).read_text()


def _normal(file: descriptor_pb2.FileDescriptorProto) -> bytes:
    file.ClearField("source_code_info")
    for message in _messages_of(file.message_type):
        for field in message.field:
            field.ClearField("json_name")  # filled in or not, as the compiler likes
    for extension in file.extension:
        extension.ClearField("json_name")
    return file.SerializeToString(deterministic=True)


def _messages_of(
    messages: Iterable[descriptor_pb2.DescriptorProto],
) -> Iterator[descriptor_pb2.DescriptorProto]:
    for message in messages:
        yield message
        yield from _messages_of(message.nested_type)


def test_the_specification_is_there_whole() -> None:
    messages = list(_all_messages(csi_pb2.DESCRIPTOR))
    enums = [*csi_pb2.DESCRIPTOR.enum_types_by_name.values()]
    enums += [enum for message in messages for enum in message.enum_types]
    assert (
        len(messages),
        sum(len(message.fields) for message in messages),
        len(enums),
        sum(len(enum.values) for enum in enums),
        sum(len(service.methods) for service in csi_pb2.DESCRIPTOR.services_by_name.values()),
    ) == (105, 221, 10, 59, 36)


def test_the_fields_that_are_secrets() -> None:
    marked = {
        field.full_name.removeprefix("csi.v1.")
        for message in _all_messages(csi_pb2.DESCRIPTOR)
        for field in message.fields
        if (csi_pb2.csi_secret, True) in field.GetOptions().ListFields()
    }
    assert len(marked) == 22
    assert {name.rpartition(".")[2] for name in marked} == {"secrets"}


def _all_messages(file: FileDescriptor) -> Iterator[Descriptor]:
    def walk(message: Descriptor) -> Iterator[Descriptor]:
        if not message.GetOptions().map_entry:
            yield message
            for nested in message.nested_types:
                yield from walk(nested)

    for message in file.message_types_by_name.values():
        yield from walk(message)
