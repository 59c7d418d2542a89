# SPDX-License-Identifier: Apache-2.0
"""What the scripts share that write cases with the results of ONNX Runtime: text of types, numbers and attributes."""
import numpy as np
import onnxruntime

CODES = {"float32": "f32", "bool": "bool", "int32": "i32", "int64": "i64", "uint8": "u8", "int8": "i8", "float16": "f16",
         "int4": "i4", "uint4": "u4", "int16": "i16", "uint16": "u16", "uint32": "u32", "float64": "f64"}


def number(x):
    return f"{float(x):.9g}" if isinstance(x, (float, np.floating)) else str(int(x))


def literal(x):
    if isinstance(x, (bool, np.bool_)):
        return "true" if x else "false"
    text = number(x)
    return text if isinstance(x, (int, np.integer)) or "." in text or "e" in text else text + ".0"


def nested(array):
    if str(array.dtype) in ("int4", "uint4"):
        array = array.astype("int32")
    if array.ndim == 0:
        return "[" + literal(array[()]) + "]"
    return "[" + ", ".join(literal(x) for x in array.ravel()) + "]"


def attribute(value):
    if isinstance(value, str):
        return '\\"' + value + '\\"'
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(attribute(x) for x in value) + "]"
    return literal(value) + ("f" if isinstance(value, float) else "")


def start(model):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
