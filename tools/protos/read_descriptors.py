"""Writes a FileDescriptorSet with the closure of some .proto files, read from a wheel of generated Python modules.

Usage: read_descriptors.py <wheel> <entry list> <output>

protoc's Python output passes each file's serialized FileDescriptorProto to AddSerializedFile as one bytes literal.
Reading that literal from the syntax tree needs neither the package's imports nor its dependencies, and runs none of
its code. Files of google/protobuf are not in the wheel; the caller adds them.
"""

import ast
import sys
import zipfile

WELL_KNOWN = "google/protobuf/"
DEPENDENCY_FIELD = 3  # FileDescriptorProto.dependency
FILE_FIELD = 1  # FileDescriptorSet.file


def encode_varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def dependencies(descriptor):
    """The imports of a serialized FileDescriptorProto, whose top-level fields are all varints or length-delimited."""
    found, at = [], 0
    while at < len(descriptor):
        key, at = read_varint(descriptor, at)
        number, wire_type = key >> 3, key & 7
        if wire_type not in (0, 2):
            raise SystemExit(f"unexpected wire type {wire_type} in a file descriptor")
        value, at = read_varint(descriptor, at)
        if wire_type == 2:
            if number == DEPENDENCY_FIELD:
                found.append(descriptor[at : at + value].decode())
            at += value
    return found


def descriptor_of(wheel, proto):
    module = proto.removesuffix(".proto").replace("-", "_") + "_pb2.py"
    try:
        source = wheel.read(module)
    except KeyError:
        raise SystemExit(f"{proto}: the wheel has no {module}") from None
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "AddSerializedFile":
            return ast.literal_eval(node.args[0])
    raise SystemExit(f"{proto}: {module} holds no serialized descriptor")


def closure(wheel, entries):
    """Descriptors by file name, each after everything it imports, as plugins of protoc require."""
    ordered = {}

    def visit(proto):
        if proto in ordered or proto.startswith(WELL_KNOWN):
            return
        descriptor = descriptor_of(wheel, proto)
        for dependency in dependencies(descriptor):
            visit(dependency)
        ordered[proto] = descriptor

    for entry in entries:
        visit(entry)
    return ordered


def main(wheel_path, entries_path, out_path):
    with open(entries_path, encoding="utf-8") as file:
        lines = (line.strip() for line in file)
        entries = [line for line in lines if line and not line.startswith("#")]
    with zipfile.ZipFile(wheel_path) as wheel:
        descriptors = closure(wheel, entries)
    with open(out_path, "wb") as out:
        for descriptor in descriptors.values():
            out.write(encode_varint(FILE_FIELD << 3 | 2) + encode_varint(len(descriptor)) + descriptor)


if __name__ == "__main__":
    main(*sys.argv[1:])
