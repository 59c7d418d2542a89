#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the cases in this folder: operators that came with ONNX 24 to 28, most of them for decoders of language models,
their inputs, and the outputs that ONNX's reference implementation computes (ONNX Runtime has kernels for few of them).

usage: make_cases.py    (needs the packages onnx and numpy)

Each case is a model of many nodes, one for each variant, so that there are few files.
"""
import itertools
import pathlib

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

TYPES = {
    np.dtype("f4"): TensorProto.FLOAT,
    np.dtype("f2"): TensorProto.FLOAT16,
    np.dtype(ml_dtypes.bfloat16): TensorProto.BFLOAT16,
    np.dtype("i8"): TensorProto.INT64,
    np.dtype("i4"): TensorProto.INT32,
    np.dtype("f8"): TensorProto.DOUBLE,
    np.dtype("?"): TensorProto.BOOL,
    np.dtype("u2"): TensorProto.UINT16,
    np.dtype("i1"): TensorProto.INT8,
    np.dtype("u1"): TensorProto.UINT8,
    np.dtype(ml_dtypes.float4_e2m1fn): TensorProto.FLOAT4E2M1,
    np.dtype(ml_dtypes.float8_e8m0fnu): TensorProto.FLOAT8E8M0,
    np.dtype(ml_dtypes.uint2): TensorProto.UINT2,
    np.dtype(ml_dtypes.int2): TensorProto.INT2,
}
RANDOM = np.random.default_rng(17)


def numbers(*shape, dtype="f4"):
    return RANDOM.uniform(-1, 1, shape).astype(dtype)


class Case:
    """Values are inputs by their own names; `names` gives dimensions that stay open."""

    def __init__(self, name, open_dims=()):
        self.name, self.open_dims = name, open_dims
        self.inputs, self.nodes, self.outputs = {}, [], []

    def node(self, operator, operands, results, **attributes):
        names = []
        for array in operands:
            known = [name for name, other in self.inputs.items() if other is array]
            names.append("" if array is None else known[0] if known else f"x{len(self.inputs)}")
            if array is not None:
                self.inputs[names[-1]] = array
        made = [f"y{len(self.outputs) + i}" for i in range(len(results))]
        self.nodes.append(helper.make_node(operator, names, made, **attributes))
        self.outputs += [helper.make_tensor_value_info(n, TYPES[np.dtype(t)], None) for n, t in zip(made, results)]

    def shape(self, name, array):
        return [f"{name}_{d}" if d in self.open_dims and array.ndim > 2 else size for d, size in enumerate(array.shape)]

    def write(self):
        infos = [helper.make_tensor_value_info(n, TYPES[a.dtype], self.shape(n, a)) for n, a in self.inputs.items()]
        graph = helper.make_graph(self.nodes, self.name, infos, self.outputs)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 28)], ir_version=13, producer_name="byoc")
        results = ReferenceEvaluator(model).run(None, self.inputs)
        folder = pathlib.Path(__file__).parent / self.name / "test_data_set_0"
        folder.mkdir(parents=True, exist_ok=True)
        (folder.parent / "model.onnx").write_bytes(model.SerializeToString())
        for i, (name, array) in enumerate(self.inputs.items()):
            (folder / f"input_{i}.pb").write_bytes(numpy_helper.from_array(array, name).SerializeToString())
        for i, (info, array) in enumerate(zip(self.outputs, results)):
            (folder / f"output_{i}.pb").write_bytes(numpy_helper.from_array(np.asarray(array), info.name).SerializeToString())


def tensor_scatter(case):
    for dtype, mode in itertools.product(("f4", "i4"), ("linear", "circular")):
        cache, update = (numbers(*s) * 100 for s in ((3, 2, 5, 4), (3, 2, 2, 4)))
        cache, update = cache.astype(dtype), update.astype(dtype)
        case.node("TensorScatter", [cache, update], [dtype], mode=mode)
        case.node("TensorScatter", [cache, update, np.array([0, 3, 1] if mode == "linear" else [4, 7, 12])], [dtype], mode=mode)
    case.node("TensorScatter", [numbers(2, 4), numbers(2, 1), np.array([3, 0])], ["f4"], axis=1)
    case.node("TensorScatter", [numbers(2, 6, 2, 2), numbers(2, 3, 2, 2), np.array([5, 2])], ["f4"], axis=1, mode="circular")


def swiglu(case):
    for dtype, alpha in (("f4", None), ("f4", 1.702)):
        gate, value = numbers(2, 3, 5, dtype=dtype) * 4, numbers(2, 3, 5, dtype=dtype)
        case.node("SwiGLU", [gate.astype(dtype), value], [dtype], **({} if alpha is None else {"alpha": alpha}))


def causal_conv(case):
    for kernel, length, activation in ((4, 6, "none"), (4, 1, "silu"), (3, 5, "swish"), (1, 4, "none")):
        x, weight, bias, past = numbers(2, 5, length), numbers(5, 1, kernel), numbers(5), numbers(2, 5, kernel - 1)
        for operands in ([weight], [weight, bias], [weight, None, past], [weight, bias, past]):
            case.node("CausalConvWithState", [x, *operands], ["f4", "f4"], activation=activation)
    case.node("CausalConvWithState", [numbers(2, 3, 5), numbers(3, 1, 4)], ["f4"])


def linear_attention(case):
    batch, tokens, size, width = 2, 5, 4, 3
    packed = {count: numbers(batch, tokens, count) for count in (16, 8, 6)}
    decays = {count: -np.abs(numbers(batch, tokens, count)) for count in (2, 8)}
    betas = {count: np.abs(numbers(batch, tokens, count)) for count in (1, 2)}
    state = numbers(batch, 2, size, width)
    for rule, (q_heads, kv_heads), wide in itertools.product(
        ("linear", "gated", "delta", "gated_delta"), ((2, 2), (4, 2)), (False, True)
    ):
        decay = decays[kv_heads * (size if wide else 1)] if "gated" in rule else None
        beta = betas[kv_heads if wide else 1] if "delta" in rule else None
        past = state if wide else None
        q, k, v = packed[q_heads * size], packed[kv_heads * size], packed[kv_heads * width]
        operands = [q, k, v, past, decay, beta]
        while operands[-1] is None:
            operands.pop()
        heads = {"q_num_heads": q_heads, "kv_num_heads": kv_heads, "update_rule": rule}
        case.node("LinearAttention", operands, ["f4", "f4"], **heads, **({"scale": 0.3} if wide else {}))
        if rule == "delta" and not wide:
            narrow = [None if a is None else a.astype("f2") for a in operands]
            case.node("LinearAttention", narrow, ["f2", "f2"], **heads)
            narrow[3] = state  # a state that is wider than the rest
            case.node("LinearAttention", narrow, ["f2", "f4"], **heads)
            case.node("LinearAttention", operands, ["f4"], **heads)


def bit_cast(case):
    for source, to in (("f4", "i4"), ("i4", "f4"), ("f8", "i8"), ("f2", "u2"), ("u2", "f2"), ("i1", "u1")):
        array = (numbers(2, 3, 4) * 100).astype(source)
        case.node("BitCast", [array], [to], to=TYPES[np.dtype(to)])
    # Between kernels, in a branch, and there and back.
    x = numbers(2, 3, 4)
    case.node("Relu", [x], ["f4"])
    relu = case.nodes[-1].output[0]
    case.nodes.append(helper.make_node("BitCast", [relu], ["bits"], to=TensorProto.INT32))
    case.node("Add", [], ["i4"])
    case.nodes[-1].input.extend(["bits", "bits"])
    branches = {}
    for key, value in (("then_branch", relu), ("else_branch", "x6")):
        node = helper.make_node("BitCast", [value], [f"{key}_y"], to=TensorProto.INT32)
        info = helper.make_tensor_value_info(f"{key}_y", TensorProto.INT32, None)
        branches[key] = helper.make_graph([node], key, [], [info])
    case.node("If", [np.array(True)], ["i4"], **branches)
    chosen = case.nodes[-1].output[0]
    case.nodes.append(helper.make_node("BitCast", [chosen], ["floats"], to=TensorProto.FLOAT))
    case.node("Sub", [], ["f4"])
    case.nodes[-1].input.extend(["floats", "x6"])


def narrow(case):
    """Types of 4 and 2 bits, f4e2m1 and f8e8m0: casts to and from them, scales and numbers of quantised tensors."""
    f4, e8, u2, i2 = ml_dtypes.float4_e2m1fn, ml_dtypes.float8_e8m0fnu, ml_dtypes.uint2, ml_dtypes.int2
    sizes = [0, -0.0, 0.25, 0.26, 0.75, -0.74, 1.25, 1.75, 2.5, -3.5, 5, 5.1, 7, -1e9, np.inf, -np.inf, 1e-30, 0.5, 3]
    x = np.array(sizes, "f4")
    whole = np.array([-2, -1, 0, 1, 1, -2, -1], "f4")
    for to in (f4, u2, i2):
        operand = x if to is f4 else np.abs(whole) if to is u2 else whole
        for source in ("f4", "f2", "f8"):
            case.node("Cast", [operand.astype(source)], [to], to=TYPES[np.dtype(to)])
            case.nodes.append(helper.make_node("Cast", [case.outputs[-1].name], [f"back{len(case.nodes)}"], to=TensorProto.FLOAT))
            case.node("Neg", [], ["f4"])
            case.nodes[-1].input.append(case.nodes[-2].output[0])
    positive = np.array([1, 0.75, 3, 1.5, 1.49, 0.7, 1e-30, 2.0**127, 3e38, 2.0**-126, 6, 0.3, np.inf, np.nan], "f4")
    for mode, saturate in itertools.product(("up", "down", "nearest"), (0, 1)):
        case.node("Cast", [positive], [e8], to=TensorProto.FLOAT8E8M0, round_mode=mode, saturate=saturate)
    # Cast again to what NumPy can compare.
    for array in (numbers(3, 7).astype(f4), np.array([1, 0.5, 8, 2.0**-127, 2.0**127], e8), np.array([0, 1, 2, 3, 3], u2),
                  np.array([[-2, -1, 0], [1, -1, 1]], i2)):
        case.node("Cast", [array], ["f4"], to=TensorProto.FLOAT)
        case.node("Identity", [array], [array.dtype])
        case.node("Reshape", [array, np.array([-1])], [array.dtype])
    # Blocks of one scale, as in the formats of the Open Compute Project: weights of f4e2m1, scales of f8e8m0.
    weights = (numbers(4, 8) * 6).astype(f4)
    scales = np.array([[1, 0.25], [2, 8], [0.5, 4], [1, 1]], e8)
    case.node("DequantizeLinear", [weights, scales], ["f4"], axis=1, block_size=4, output_dtype=TensorProto.FLOAT)
    case.node("DequantizeLinear", [weights, scales.astype("f4")], ["f4"], axis=1, block_size=4)
    for dtype in (u2, i2):
        low, high = (0, 3) if dtype is u2 else (-2, 1)
        ints = RANDOM.integers(low, high + 1, (4, 6)).astype(dtype)
        zero = RANDOM.integers(low, high + 1, (4, 2)).astype(dtype)
        case.node("DequantizeLinear", [ints, np.abs(numbers(4, 2)) + 0.1, zero], ["f4"], axis=1, block_size=3)
        case.node("QuantizeLinear", [numbers(3, 5) * 4, np.array(0.7, "f4"), np.array(1, dtype)], [dtype])


def main():
    for make in (tensor_scatter, swiglu, causal_conv, linear_attention, bit_cast, narrow):
        case = Case(make.__name__, open_dims=(0,) if make is bit_cast else ())
        make(case)
        case.write()
    case = Case("open", open_dims=(0, 1))
    case.node("TensorScatter", [numbers(3, 4, 2), numbers(3, 1, 2), np.array([3, 0, 2])], ["f4"])
    case.node("SwiGLU", [numbers(2, 3, 5), numbers(2, 3, 5)], ["f4"])
    case.node(
        "LinearAttention", [numbers(2, 3, 4), numbers(2, 3, 4), numbers(2, 3, 6)], ["f4", "f4"],
        q_num_heads=2, kv_num_heads=2, update_rule="linear",
    )
    case.write()


if __name__ == "__main__":
    main()
