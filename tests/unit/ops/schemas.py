#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes schemas.txt: what the onnx package says of every operator, at every version; or schemas_microsoft.txt: what
ONNX Runtime says of its own operators.

    python3 tests/unit/ops/schemas.py > tests/unit/ops/schemas.txt
    python3 tests/unit/ops/schemas.py microsoft > tests/unit/ops/schemas_microsoft.txt
"""
import sys

import onnx
from onnx import defs

DOMAINS = ("", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training")
# The names of onnx.proto, in TensorProto.DataType's words, and byoc's.
TYPES = {
    "float": "f32", "double": "f64", "float16": "f16", "bfloat16": "bf16", "bool": "bool", "string": "string",
    "complex64": "c64", "complex128": "c128",
    "float8e4m3fn": "f8e4m3fn", "float8e4m3fnuz": "f8e4m3fnuz", "float8e5m2": "f8e5m2", "float8e5m2fnuz": "f8e5m2fnuz",
    "float8e8m0": "f8e8m0", "float4e2m1": "f4e2m1", "float6e2m3": "f6e2m3", "float6e3m2": "f6e3m2",
    **{f"{sign}int{bits}": f"{short}{bits}" for sign, short in (("", "i"), ("u", "u")) for bits in (2, 4, 8, 16, 32, 64)},
}


def element_types(names):
    """The element types of tensors among the names of types: "tensor(float)" and the like."""
    inner = sorted(name[len("tensor("):-1] for name in names if name.startswith("tensor("))
    return [TYPES[name] for name in inner]


def default_text(default):
    value = onnx.helper.get_attribute_value(default)
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, float):
        return f"{value:.9g}"
    if isinstance(value, list):
        return ",".join(item.decode() if isinstance(item, bytes) else str(item) for item in value)
    return str(value)


def count_text(count):
    return -1 if count > 1000000 else count


def head_lines(schema):
    """The operator with its counts, and its attributes."""
    counts = [count_text(c) for c in (schema.min_input, schema.max_input, schema.min_output, schema.max_output)]
    yield f"op {schema.domain or '-'} {schema.name} {schema.since_version} {' '.join(map(str, counts))}"
    for name, attribute in sorted(schema.attributes.items()):
        kind = str(attribute.type).rsplit(".", 1)[-1].lower()
        default = getattr(attribute, "default_value", None)
        if default is None:  # ONNX Runtime gives it as bytes
            default = onnx.AttributeProto.FromString(attribute._default_value)
        if attribute.required:
            yield f"attr {name} {kind} required"
        elif default.name:
            yield f"attr {name} {kind} default {default_text(default)}"
        else:
            yield f"attr {name} {kind} optional"


def print_microsoft():
    import onnxruntime
    from onnxruntime.capi import _pybind_state
    print(f"# From onnxruntime {onnxruntime.__version__}, by schemas.py microsoft; test_schemas.c reads it. As in schemas.txt.")
    schemas = [s for s in _pybind_state.get_all_operator_schema() if s.domain == "com.microsoft" and not s.deprecated]
    for schema in sorted(schemas, key=lambda s: (s.name, s.since_version)):
        print("\n".join(head_lines(schema)))


def main():
    print(f"# From onnx {onnx.__version__}, operator set {defs.onnx_opset_version()}, by schemas.py; test_schemas.c reads it.")
    print("# op DOMAIN NAME VERSION, least and most operands and results; each attribute with its kind and default; each")
    print("# type variable with the operands that have it, and its element types by their set above.")
    sets = {}
    lines = []
    schemas = [s for s in defs.get_all_schemas_with_history() if s.domain in DOMAINS and not s.deprecated]
    for schema in sorted(schemas, key=lambda s: (s.domain, s.name, s.since_version)):
        lines.extend(head_lines(schema))
        variables = {c.type_param_str: element_types(c.allowed_type_strs) for c in schema.type_constraints}
        for formal in schema.inputs:
            variables.setdefault(formal.type_str, element_types([formal.type_str]))
        for variable, words in variables.items():
            operands = [str(i) for i, formal in enumerate(schema.inputs) if formal.type_str == variable]
            if not operands or not words:
                continue
            number = sets.setdefault(" ".join(words), len(sets))
            lines.append(f"type {variable} {','.join(operands)} {number}")
    for words, number in sets.items():
        print(f"set {number} {words}")
    print("\n".join(lines))


if __name__ == "__main__":
    print_microsoft() if sys.argv[1:] == ["microsoft"] else main()
