#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes microsoft_cases.def: operators of com.microsoft with the results that ONNX Runtime gives.

    python3 tests/unit/ops/microsoft.py > tests/unit/ops/microsoft_cases.def

Needs the packages numpy, onnx and onnxruntime. With --plausible, writes rows for plausible.def instead.
"""
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

sys.dont_write_bytecode = True
from runtime_text import CODES, attribute, nested, number, start

rows, plausible = [], []


class Input:
    """An input whose element i is known from its place: test_compute_microsoft.c fills it by the same rule."""

    def __init__(self, *shape, dtype="float32"):
        self.shape, self.dtype = shape, dtype

    def fill(self, place):
        numbers = (np.arange(int(np.prod(self.shape)), dtype=np.int64) * 37 + place * 11 + 5) % 251
        if self.dtype == "float32":
            return ((numbers % 23 - 11) / 8).astype("float32").reshape(self.shape)
        return (numbers - (128 if self.dtype == "int8" else 0)).astype(self.dtype).reshape(self.shape)


def compute(op, *arrays, domain="com.microsoft", **attributes):
    """The result of another operator, by ONNX Runtime."""
    feeds = {f"x{i}": array for i, array in enumerate(arrays)}
    infos = [helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for k, v in feeds.items()]
    graph = helper.make_graph([helper.make_node(op, list(feeds), ["y"], domain=domain, **attributes)], "g", infos,
                              [onnx.ValueInfoProto(name="y")])
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return start(helper.make_model(graph, opset_imports=imports, ir_version=8)).run(None, feeds)[0]


def run_on_zeros(session, feeds, present):
    """ONNX Runtime multiplies by 0 what stands behind shorter sequences, which may be NaN unless the caller sets it."""
    binding = session.io_binding()
    for name, value in feeds.items():
        binding.bind_cpu_input(name, value)
    binding.bind_output("y0")
    for name in ("y1", "y2"):
        binding.bind_ortvalue_output(name, onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros(present, "float32")))
    session.run_with_iobinding(binding)
    return binding.copy_outputs_to_cpu()[:1]


def case(op, inputs, outputs=1, domain="com.microsoft", rows_only=False, instead=None, present=None,
         operator_set=17, **attributes):
    """`outputs` is a number, or a list of flags that say which results are wanted. `instead` computes the
    result from the operands where ONNX Runtime's CPU provider does not run the operator. `present` is the shape of a cache whose sequences
    differ in length."""
    flags = [True] * outputs if isinstance(outputs, int) else outputs
    names, feeds, infos, initializers, parameters, constants, operands = [], {}, [], [], [], [], []
    for i, given in enumerate(inputs):
        name = f"x{i}"
        names.append(name if given is not None else "")
        if given is None:
            operands.append("_")
        elif isinstance(given, Input):
            feeds[name] = given.fill(len(parameters))
            infos.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(feeds[name].dtype), given.shape))
            kind = f"{CODES[given.dtype]}[{','.join(map(str, given.shape))}]"
            parameters.append(f"%x{i} : {kind}")
            operands.append((f"%x{i}", kind))
        else:
            initializers.append(numpy_helper.from_array(given, name))
            kind = f"{CODES[str(given.dtype)]}[{','.join(map(str, given.shape))}]"
            constants.append(f"  constant @x{i} : {kind} = {nested(given)}\\n")
            operands.append((f"@x{i}", kind + " = " + nested(given)))
    wanted = [f"y{i}" if flag else "" for i, flag in enumerate(flags)]
    node = helper.make_node(op, names, wanted, domain=domain, **attributes)
    if present:
        node.output.extend(["y1", "y2"])
    graph = helper.make_graph([node], "g", infos, [onnx.ValueInfoProto(name=n) for n in node.output if n], initializers)
    imports = [helper.make_opsetid("", operator_set), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=8)
    if instead:
        results = [instead(*[feeds.get(name, given) for name, given in zip(names, inputs)])]
    else:
        session = start(model)
        results = run_on_zeros(session, feeds, present) if present else session.run(None, feeds)
    written = ", ".join(f"{k} = {attribute(v)}" for k, v in attributes.items())
    braces = " {" + written + "}" if written else ""
    shown = f"{domain}::{op}" if domain else op
    types = ", ".join("?" for _ in flags)
    text = ("module {\\n" + "".join(constants) + f"  func @main({', '.join(parameters)}) -> "
            f"({', '.join('%' + n + ' : ?' for n in wanted if n)}) {{\\n    "
            f"{', '.join('%y' + str(i) for i in range(len(flags)))} = {shown}@1("
            f"{', '.join(o if o == '_' else o[0] for o in operands)}){braces} : {types}\\n"
            f"    return {', '.join('%' + n for n in wanted if n)}\\n  }}\\n}}\\n")
    numbers = ", ".join(number(x) for result in results for x in np.asarray(result).ravel())
    rows.append(f'CASE("{text}", {numbers})')
    if not rows_only:
        kinds = "; ".join(o if o == "_" else o[1] for o in operands)
        plausible.append(f'PLAUSIBLE("{shown}", "{kinds}", "{braces[1:]}", {len(flags)})')


def floats(*values):
    return np.array(values, dtype="float32")


def ints(*values):
    return np.array(values, dtype="int32")


def normalisations():
    x, v = Input(2, 3, 4), Input(4)
    case("SkipLayerNormalization", [x, x, v, v, v], [True, False, False, True], epsilon=0.25)
    case("SkipLayerNormalization", [x, Input(3, 4), v], rows_only=True)
    case("SkipSimplifiedLayerNormalization", [x, x, v, v], [True, False, False, True], epsilon=0.25)
    case("SkipSimplifiedLayerNormalization", [x, x, v], rows_only=True)
    case("SimplifiedLayerNormalization", [x, v], [True, True], domain="", epsilon=0.5)
    words, segments = np.array([[3, 0, 2], [1, 1, 4]], "int32"), np.array([[0, 0, 1], [1, 0, 0]], "int32")
    mask = np.array([[1, 1, 0], [1, 1, 1]], "int32")
    case("EmbedLayerNormalization", [words, segments, Input(5, 4), Input(6, 4), Input(2, 4), v, v, mask], 3, epsilon=0.5)
    case("EmbedLayerNormalization", [words, None, Input(5, 4), Input(6, 4), None, v, v, None, np.array([[2, 0, 5]], "int32")],
         2, rows_only=True)


    byte = lambda *shape: Input(*shape, dtype="uint8")
    tables = [byte(5, 4), byte(6, 4), byte(2, 4), byte(4), byte(4)]
    scales = [np.array(0.01 * (i + 1), "float32") for i in range(5)]
    zeros = [np.array(100 + i, "uint8") for i in range(5)]
    case("QEmbedLayerNormalization", [words, segments] + tables + [mask] + scales + zeros, 2, epsilon=0.5)
    for group in (tables, scales, zeros):
        group[2] = None
    case("QEmbedLayerNormalization", [words, None] + tables + [None] + scales + zeros, 2, rows_only=True)


def products():
    x = Input(2, 3, 4)
    case("Gelu", [x])
    case("BiasGelu", [x, Input(4)])
    case("FastGelu", [x, Input(4)])
    case("FastGelu", [x], rows_only=True)
    case("QuickGelu", [x], alpha=1.5)
    case("QuickGelu", [x], rows_only=True)
    case("FusedGemm", [Input(3, 2), Input(4, 3), Input(4)], transA=1, transB=1, alpha=0.5, activation="LeakyRelu",
         activation_alpha=0.25)
    case("FusedGemm", [Input(2, 3), Input(3, 4)], rows_only=True, activation="Tanh")
    case("FusedGemm", [Input(2, 3), Input(3, 4)], rows_only=True, activation="HardSigmoid", activation_alpha=0.25,
         activation_beta=0.5)
    case("FusedConv", [Input(1, 2, 4, 4), Input(2, 2, 3, 3), Input(2), Input(1, 2, 4, 4)], pads=[1, 1, 1, 1], activation="Relu")
    case("FusedConv", [Input(1, 2, 4, 4), Input(2, 1, 3, 3)], rows_only=True, group=2, activation="Clip",
         activation_params=[-0.5, 1.5])
    case("FusedConv", [Input(1, 2, 4, 4), Input(2, 1, 3, 3)], rows_only=True, group=2, activation="HardSigmoid",
         activation_params=[0.25, 0.5])
    case("FusedMatMul", [Input(2, 3, 4), Input(2, 5, 4)], transB=1, alpha=0.5)
    case("FusedMatMul", [Input(3, 2, 4), Input(2, 4, 5)], transBatchA=1, rows_only=True)
    case("FusedMatMul", [Input(4, 2, 3), Input(2, 4, 5)], transBatchA=1, transA=1, rows_only=True)
    case("FusedMatMul", [Input(2, 3, 4), Input(5, 2, 4)], transBatchB=1, transB=1, rows_only=True)
    case("TransposeMatMul", [Input(4, 3), Input(4, 5)], transA=1)


def attention():
    x, weights, bias = Input(2, 3, 4), Input(4, 12), Input(12)
    raw, lengths = ints([1, 1, 0], [1, 1, 1]), ints(2, 3)
    case("Attention", [x, weights, bias, raw], num_heads=2)
    case("Attention", [x, weights, bias, lengths], num_heads=2, unidirectional=1, rows_only=True)
    case("Attention", [x, weights, bias, None, Input(2, 2, 2, 2, 2)], 2, num_heads=2, scale=0.5)
    case("Attention", [x, weights, bias, None, None, Input(1, 2, 3, 3)], num_heads=2, rows_only=True)
    case("Attention", [x, weights, bias, ints(4, 5), Input(2, 2, 2, 2, 2)], 2, num_heads=2, unidirectional=1, rows_only=True)
    case("Attention", [x, Input(4, 14), Input(14)], num_heads=2, qkv_hidden_sizes=[4, 4, 6], rows_only=True)
    case("Attention", [x, weights, bias, ints([[1, 1, 0]] * 3, [[0, 1, 1]] * 3)], num_heads=2, rows_only=True)
    case("Attention", [x, weights, bias, ints([0, 0, 0], [1, 1, 1])], num_heads=2, mask_filter_value=-3.0, rows_only=True)
    scalar = lambda value: np.array(value, "float32")
    zeros, scales = np.arange(12).astype("int8"), (np.arange(12) / 64 + 0.0625).astype("float32")
    bytes_of = [Input(2, 3, 4, dtype="uint8"), Input(4, 12, dtype="int8"), bias, scalar(0.01), scalar(0.02)]
    case("QAttention", bytes_of + [lengths, np.array(100, "uint8"), np.array(3, "int8")], num_heads=2)
    case("QAttention", bytes_of[:4] + [scales, None, np.array(100, "uint8"), zeros, Input(2, 2, 2, 2, 2)], 2, num_heads=2,
         unidirectional=1)
    case("QAttention", bytes_of, num_heads=2, rows_only=True)
    query, key = Input(2, 3, 4), Input(2, 5, 4)
    case("MultiHeadAttention", [query, key, Input(2, 5, 6), Input(14), ints([1, 1, 0, 1, 1], [1, 1, 1, 0, 0])], num_heads=2)
    case("MultiHeadAttention", [query, key, Input(2, 5, 6), None, None, Input(2, 1, 3, 5)], num_heads=2, scale=0.5, rows_only=True)
    case("MultiHeadAttention", [query, query, query, None, None, None, Input(2, 2, 2, 2), Input(2, 2, 2, 2)], 3, num_heads=2,
         unidirectional=1)
    case("MultiHeadAttention", [query, Input(2, 2, 5, 2), Input(2, 2, 5, 2)], num_heads=2)
    case("MultiHeadAttention", [query, Input(2, 2, 5, 2), Input(2, 2, 5, 2), Input(12)], num_heads=2, rows_only=True)
    case("MultiHeadAttention", [query, key, key, None, ints(4, 5)], num_heads=2, rows_only=True)
    places = np.array([[0, 2, 1], [3, 1, 0]], "int64")
    case("RotaryEmbedding", [Input(2, 3, 8), places, Input(5, 2), Input(5, 2)])
    case("RotaryEmbedding", [Input(2, 3, 8), np.array([1], "int64"), Input(5, 2), Input(5, 2)], interleaved=1)
    case("RotaryEmbedding", [Input(2, 2, 3, 4), places, Input(5, 2), Input(5, 2)], rows_only=True)
    case("RotaryEmbedding", [Input(2, 3, 8), places, Input(5, 1), Input(5, 1)], rows_only=True, num_heads=2,
         rotary_embedding_dim=2)


def attend_normalised(query, key, value, _key, _value, lengths, total, *more):
    """GroupQueryAttention on queries and keys that are normalised head by head."""
    for x, weights in ((query, more[-2]), (key, more[-1])):
        heads = x.reshape(1, 3, -1, 16)
        heads[:] = heads / np.sqrt((heads * heads).mean(-1, keepdims=True) + 0.25) * weights
    empty = np.zeros((1, 2, 0, 16), "float32")
    return compute("GroupQueryAttention", query, key, value, empty, empty, lengths, total, num_heads=4, kv_num_heads=2)


def group_queries():
    one, three = ints(4, 4), np.array(5, "int32")
    step = [Input(2, 1, 32), Input(2, 1, 16), Input(2, 1, 16), Input(2, 2, 4, 8), Input(2, 2, 4, 8)]
    heads = {"num_heads": 4, "kv_num_heads": 2}
    prompt = [Input(2, 3, 32), Input(2, 3, 16), Input(2, 3, 16), None, None, ints(2, 2), np.array([3], "int32")]
    case("GroupQueryAttention", prompt, 3, **heads)
    case("GroupQueryAttention", prompt, 3, **heads, local_window_size=2, softcap=0.5, rows_only=True)
    case("GroupQueryAttention", prompt, **heads, local_window_size=1, rows_only=True)
    case("GroupQueryAttention", prompt[:5] + [ints(2, 1), prompt[6]], causal=0, **heads, rows_only=True)
    case("GroupQueryAttention", prompt, smooth_softmax=1, **heads, rows_only=True)
    case("GroupQueryAttention", step + [one, three], 3, **heads)
    case("GroupQueryAttention", step + [one.reshape(2, 1), three], 3, **heads, scale=0.25, softcap=0.5, rows_only=True)
    case("GroupQueryAttention", step + [ints(4, 2), three], **heads, local_window_size=3, present=(2, 2, 5, 8))
    case("GroupQueryAttention", step + [ints(4, 2), three], **heads, local_window_size=1, present=(2, 2, 5, 8), rows_only=True)
    static = step[:3] + [Input(2, 2, 6, 8)] * 2
    case("GroupQueryAttention", static + [ints(5, 5), np.array([6], "int32")], 3, **heads, rows_only=True)
    case("GroupQueryAttention", static + [ints(3, 2), np.array([4], "int32")], **heads, present=(2, 2, 6, 8), rows_only=True)
    case("GroupQueryAttention", static + [ints(5, 2), np.array(6, "int32"), None, None, None, Input(1, 4, 1, 6)], **heads, present=(2, 2, 6, 8), rows_only=True)
    more = [None, None, None, None, Input(4)]
    case("GroupQueryAttention", step + [ints(4, 2), three] + more, **heads, present=(2, 2, 5, 8))
    case("GroupQueryAttention", step + [ints(4, 2), three] + more[:3] + [Input(2, 1, 1, 5), Input(4)], **heads,
         present=(2, 2, 5, 8), rows_only=True)
    chunk = [Input(1, 3, 32), Input(1, 3, 16), Input(1, 3, 16), Input(1, 2, 4, 8), Input(1, 2, 4, 8), ints(6),
             np.array([7], "int32")]
    case("GroupQueryAttention", chunk, 3, **heads, rows_only=True)
    case("GroupQueryAttention", chunk, 3, **heads, local_window_size=2, rows_only=True)
    # A windowed cache that is full after the run, and one that has room left; more positions at once than it has places.
    window = {**heads, "sliding_window_cache": 1, "local_window_size": 4}
    case("GroupQueryAttention", static + [ints(8, 5), np.array([9], "int32")], 3, **window)
    case("GroupQueryAttention", static + [ints(9, 1), np.array([10], "int32")], **window, present=(2, 2, 6, 8), rows_only=True)
    long = [Input(1, 7, 32), Input(1, 7, 16), Input(1, 7, 16), Input(1, 2, 4, 8), Input(1, 2, 4, 8)]
    case("GroupQueryAttention", long + [ints(8), np.array([9], "int32")], 3, **window, rows_only=True)
    # Caches of bytes, and of half bytes.
    of_all = [None] * 5 + [floats(0.0625), floats(0.04)]
    of_each = [None] * 5 + [floats(*np.linspace(0.03, 0.07, 16)).reshape(1, 2, 1, 8)] * 2
    for bits, kind, scales in ((8, "int8", of_all), (4, "uint8", of_each)):
        name = "PER_TENSOR" if scales is of_all else "PER_CHANNEL"
        packed = {**heads, "k_quant_type": name, "v_quant_type": name, "kv_cache_bit_width": bits}
        case("GroupQueryAttention", step[:3] + [Input(2, 2, 4, bits, dtype=kind)] * 2 + [one, three] + scales, 3, **packed)
    wide = [Input(2, 1, 64), Input(2, 1, 32), Input(2, 1, 32)] + [Input(2, 2, 6, 16, dtype="int8")] * 2
    case("GroupQueryAttention", wide + [ints(8, 5), np.array([9], "int32")] + of_all, 3, **window, k_quant_type="PER_TENSOR",
         v_quant_type="PER_TENSOR", kv_cache_bit_width=8, rows_only=True)
    angles, rotated = [Input(9, 8), Input(9, 8)], {"num_heads": 2, "kv_num_heads": 1, "do_rotary": 1}
    packed = [Input(2, 1, 64), None, None, Input(2, 1, 4, 16), Input(2, 1, 4, 16), ints(4, 2), three]
    case("GroupQueryAttention", packed + angles, present=(2, 1, 5, 16), **rotated)
    case("GroupQueryAttention", packed + angles, present=(2, 1, 5, 16), **rotated, rotary_interleaved=1, rows_only=True)
    places = np.array([[7], [1]], "int64")
    case("GroupQueryAttention", packed + angles + [places], present=(2, 1, 5, 16), **rotated, rows_only=True)
    case("GroupQueryAttention", [Input(1, 3, 64), None, None, None, None, ints(2), np.array([3], "int32")] + angles, 3,
         **rotated, rows_only=True)
    case("GroupQueryAttention", [Input(1, 3, 64), Input(1, 3, 32), Input(1, 3, 32), None, None, ints(2), np.array([3], "int32")] +
         [None] * 7 + [Input(16), Input(16)], instead=attend_normalised, num_heads=4, kv_num_heads=2, qk_norm_epsilon=0.25,
         rows_only=True)



def quantised():
    for kind in ("uint8", "int8"):
        scale, other, result = np.float32(0.05), np.float32(0.25), np.float32(0.13)
        zero, far = np.array(5, kind), np.array(100, kind)
        x = Input(2, 3, 4, dtype=kind)
        keep = {"rows_only": kind == "int8"}
        scalar = lambda value: np.array(value, "float32")
        for op in ("QLinearAdd", "QLinearMul"):
            case(op, [x, scalar(scale), zero, Input(3, 1, dtype=kind), scalar(other), far, scalar(result), zero], **keep)
        case("QLinearSigmoid", [x, scalar(scale), far, scalar(0.00390625), zero], **keep)
        case("QLinearLeakyRelu", [x, scalar(scale), far, scalar(scale), zero], alpha=0.25, **keep)
        case("QLinearSoftmax", [x, scalar(scale), far, scalar(0.00390625), zero], axis=1, opset=13, **keep)
        case("QLinearGlobalAveragePool", [Input(2, 3, 2, 4, dtype=kind), scalar(scale), far, scalar(0.07), zero], **keep)
        case("QLinearGlobalAveragePool", [Input(2, 3, 2, 4, dtype=kind), scalar(scale), far, scalar(0.07), zero],
             channels_last=1, rows_only=True)
        case("QLinearConcat", [scalar(result), zero, x, scalar(scale), far, Input(2, 1, 4, dtype=kind), scalar(other), zero],
             axis=1, **keep)
        weights, scales = Input(4, 5, dtype="int8"), floats(0.5, 0.25, 0.125, 0.0625, 1.0)
        case("MatMulIntegerToFloat", [x, weights, scalar(other), scales, far, np.array([1, 2, 3, 4, 5], "int8"), Input(5)], **keep)
    case("DynamicQuantizeMatMul", [Input(2, 3, 4), weights, scales, np.array([1, 2, 3, 4, 5], "int8"), Input(5)])
    case("DynamicQuantizeMatMul", [Input(2, 3, 4), weights, floats(0.5)], rows_only=True)
    zeros, left = np.array([1, 2, 3, 4, 5], "int8"), np.array(9, "uint8")
    case("QGemm", [Input(4, 3, dtype="uint8"), scalar(0.05), left, weights, scales, zeros, ints(7, -3, 100, 0, 55),
                   scalar(3.1), left], transA=1, alpha=0.5)
    case("QGemm", [Input(3, 4, dtype="uint8"), scalar(0.05), left, Input(5, 4, dtype="uint8"), scalar(0.5), left], transB=1,
         rows_only=True)
    case("QuantizeLinear", [Input(2, 3), floats(0.07, 0.3, 0.11), np.array([3, 9, 200], "uint8")])
    case("DequantizeLinear", [Input(2, 3, dtype="int8"), floats(0.5, 0.25), np.array([3, -9], "int8")], axis=0)


def of_few_bits():
    for bits, level in ((4, 1), (4, 4), (8, 4)):
        weights = ((np.arange(5 * 2 * 4 * bits) * 37 + 11) % 256).astype("uint8").reshape(5, 2, 4 * bits)
        scales = ((np.arange(10) % 7 + 1) / 64).astype("float32").reshape(5, 2)
        zeros = ((np.arange(5 * (2 * bits + 7 >> 3)) * 29 + 3) % 256).astype("uint8").reshape(5, -1)
        settings = {"K": 40, "N": 5, "bits": bits, "block_size": 32, "accuracy_level": level, "rows_only": True}
        case("MatMulNBits", [Input(3, 40), weights, scales], **settings)
        case("MatMulNBits", [Input(1, 40), weights, scales, zeros, None, Input(5)], **settings)


def looked_up():
    places = np.array([[1, -1, 0], [3, 2, -4]], "int64")
    table, scales = Input(4, 20, dtype="uint8"), Input(4, 3)
    zeros = np.array([[33, 7], [132, 15], [0, 255], [200, 1]], "uint8")
    case("GatherBlockQuantized", [table, places, scales, zeros], bits=4, block_size=16)
    case("GatherBlockQuantized", [table, places, scales], bits=4, block_size=16, rows_only=True)
    case("GatherBlockQuantized", [table, places, Input(4, 3)], bits=2, block_size=32)
    case("GatherBlockQuantized", [table, np.array(2, "int32"), Input(4, 2), np.array([[1, 2]] * 4, "uint8")], bits=8, block_size=16)
    small = np.arange(96).reshape(3, 32) % 16
    for kind in (onnx.TensorProto.INT4, onnx.TensorProto.UINT4):
        numbers = small - 8 if kind == onnx.TensorProto.INT4 else small
        of_kind = lambda x: numpy_helper.to_array(helper.make_tensor("", kind, x.shape, x.ravel().tolist()))
        case("GatherBlockQuantized", [of_kind(numbers), places[0], Input(3, 2), of_kind(numbers[:, 5:7])], block_size=16,
             gather_axis=1)
        case("GatherBlockQuantized", [of_kind(numbers), np.array([-1, 2, -1]), Input(1, 32)], block_size=16, quantize_axis=0,
             rows_only=True)


def to_last(x):
    return np.moveaxis(x, 1, -1)


def to_second(x):
    return np.ascontiguousarray(np.moveaxis(x, -1, 1))


def norm_of_groups(x, gamma, beta, skip=None, bias=None, swish=True):
    if skip is not None:
        x = x + skip.reshape(1, 1, 1, 4) + bias
    groups = x.reshape(1, 2, 3, 2, 2)
    mean = groups.mean((1, 2, 4), keepdims=True)
    groups = (groups - mean) / np.sqrt(groups.var((1, 2, 4), keepdims=True) + 0.25)
    y = groups.reshape(x.shape) * gamma + beta
    return y / (1 + np.exp(-y)) if swish else y


def plain():
    case("CDist", [Input(3, 4), Input(2, 4)], metric="euclidean")
    case("CDist", [Input(3, 4), Input(2, 4)], rows_only=True)
    x, bias = Input(2, 3, 4), Input(4)
    case("BiasAdd", [x, bias, x], instead=lambda x, b, z: x + b + z)
    case("BiasSplitGelu", [x, bias], instead=lambda x, b: (x + b)[..., :2] * compute("Gelu", np.ascontiguousarray((x + b)[..., 2:])))
    image, groups = Input(1, 2, 3, 4), {"groups": 2, "epsilon": 0.25}
    case("GroupNorm", [image, bias, bias], instead=norm_of_groups, activation=1, **groups)
    case("GroupNorm", [Input(1, 4, 2, 3), bias, bias], activation=0, channels_last=0, rows_only=True, **groups,
         instead=lambda x, g, b: np.moveaxis(norm_of_groups(np.moveaxis(x, 1, -1), g, b, swish=False), -1, 1))
    case("SkipGroupNorm", [image, bias, bias, Input(1, 4), bias], [True, False], instead=norm_of_groups, activation=1, **groups)


def recurrent():
    w, r, bias = Input(1, 4, 20, dtype="int8"), Input(1, 5, 20, dtype="int8"), Input(1, 40)
    zero = np.array([0], "int8")
    scales, zeros = np.array([np.arange(20) / 4096 + 0.001], "float32"), np.zeros((1, 20), "int8")
    case("DynamicQuantizeLSTM", [Input(3, 1, 4), w, r, bias, None, None, None, None, floats(0.005), zero, floats(0.004), zero], 3,
         hidden_size=5)
    case("DynamicQuantizeLSTM", [Input(3, 1, 4), w, r, bias, np.array([3], "int32"), Input(1, 1, 5), Input(1, 1, 5), Input(1, 15),
                                 scales, zeros, scales, zeros], 3, hidden_size=5, direction="reverse", rows_only=True)
    case("DynamicQuantizeLSTM", [Input(3, 1, 4), Input(2, 4, 20, dtype="uint8"), Input(2, 5, 20, dtype="uint8"), None, None, None,
                                 None, None, floats(0.005, 0.003), np.array([128, 100], "uint8"), floats(0.004, 0.002),
                                 np.array([120, 128], "uint8")], hidden_size=5, direction="bidirectional", rows_only=True)
    for cell in (2, -2):  # states of one sign: the range of what is rounded holds 0 all the same
        one_sign = np.zeros((1, 40), "float32")
        one_sign[0, 15:20] = cell
        case("DynamicQuantizeLSTM", [Input(3, 1, 4), w, r, one_sign, None, None, None, None, floats(0.001), zero, floats(0.004), zero],
             hidden_size=5, rows_only=True)


def channels_last():
    x, w, bias, z = Input(1, 4, 5, 4), Input(6, 2, 3, 3), Input(6), Input(1, 2, 3, 6)
    at = {"group": 2, "kernel_shape": [3, 3]}
    case("NhwcConv", [x, w, bias], instead=lambda x, w, b: to_last(compute("Conv", to_second(x), w, b, domain="", **at)), **at)
    at["activation"] = "Relu"
    case("NhwcFusedConv", [x, w, bias, z], **at, instead=lambda x, w, b, z: to_last(
        compute("FusedConv", to_second(x), w, b, to_second(z), **at)))
    at["activation"] = "LeakyRelu"
    at["activation_params"] = [0.25]
    case("NhwcFusedConv", [x, w, bias], **at, rows_only=True, instead=lambda x, w, b: to_last(
        compute("FusedConv", to_second(x), w, b, **at)))
    scalar = lambda value: np.array(value, "float32")
    image, weights, zero, far = Input(1, 5, 6, 2, dtype="uint8"), Input(3, 2, 3, 3, dtype="int8"), np.array(5, "uint8"), np.array(100, "uint8")
    scales, zeros = floats(0.5, 0.25, 0.125), np.array([0, 0, 0], "int8")
    case("NhwcMaxPool", [image], kernel_shape=[2, 3], pads=[1, 0, 0, 1], strides=[2, 1])
    conv = [image, scalar(0.05), far, weights, scales, zeros, scalar(3.0), zero]
    case("QLinearConv", conv + [ints(7, -3, 100)], channels_last=1, pads=[1, 1, 0, 0])
    case("QLinearConv", conv, channels_last=1, strides=[2, 1], rows_only=True)
    conv[0] = Input(1, 2, 5, 6, dtype="uint8")
    case("QLinearConv", conv, rows_only=True)
    for kind in ("uint8", "int8"):
        zero, far = np.array(5, kind), np.array(100, kind)
        pool = [scalar(0.05), far, scalar(0.07), zero]
        case("QLinearAveragePool", [Input(1, 2, 5, 6, dtype=kind)] + pool, kernel_shape=[2, 3], rows_only=kind == "int8")
        case("QLinearAveragePool", [Input(1, 5, 6, 2, dtype=kind)] + pool, kernel_shape=[3, 3], channels_last=1,
             pads=[1, 1, 1, 1], strides=[2, 2], count_include_pad=1, rows_only=kind == "int8")
    case("QLinearAveragePool", [Input(1, 2, 5, 6, dtype="uint8"), scalar(0.25), far.astype("uint8"), scalar(0.5), zero.astype("uint8")], kernel_shape=[2, 2],
         strides=[2, 2], ceil_mode=1, rows_only=True)


def mean(x, scale, zero, result, shift, axes):
    x = (x.astype("float32") - zero) * scale
    return np.clip(np.rint(x.mean(axes, keepdims=True) / result) + shift, 0, 255).astype("uint8")


def choices():
    scalar = lambda value: np.array(value, "float32")
    for kind in ("uint8", "int8"):
        zero, far = np.array(5, kind), np.array(100, kind)
        case("QLinearWhere", [np.array([[True], [False]]), Input(2, 5, dtype=kind), scalar(0.05), zero,
                              Input(5, dtype=kind), scalar(0.25), far, scalar(0.13), zero], rows_only=kind == "int8")
        # Halves are rounded after the zero point was added, which is odd: QLinearAdd and QLinearMul.
        for op in ("QLinearAdd", "QLinearMul"):
            case(op, [Input(40, dtype=kind), scalar(0.25), zero, Input(6, 1, dtype=kind), scalar(0.5), far,
                      scalar(16.0 if op == "QLinearMul" else 0.5), zero], rows_only=True)
        case("QLinearGlobalAveragePool", [Input(1, 60, 3, 3, dtype=kind), scalar(0.1), far, scalar(0.13), zero],
             rows_only=True)
    numbers = [Input(2, 3, 4, dtype="uint8"), scalar(0.25), np.array(100, "uint8"), scalar(0.5), np.array(5, "uint8")]
    case("QLinearReduceMean", numbers, axes=[-1], keepdims=1, instead=lambda *x: mean(*x, -1))
    case("QLinearReduceMean", numbers, axes=[0, 2], keepdims=0, rows_only=True, instead=lambda *x: mean(*x, (0, 2))[0, :, 0])


def aliases():
    scalar = lambda value, kind: np.array(value, kind)
    case("Trilu", [Input(2, 3, 4), scalar(1, "int64")], upper=0)
    case("Trilu", [Input(3, 4)], rows_only=True)
    case("GatherND", [Input(3, 4, 2), np.array([[0, 1], [-1, 3]], "int32")])
    grid = (np.arange(24, dtype="float32") / 10 - 1.2).reshape(1, 3, 4, 2)
    case("GridSample", [Input(1, 2, 3, 4), grid])
    for mode, padding, corners in (("nearest", "border", 1), ("bicubic", "reflection", 0)):
        case("GridSample", [Input(1, 2, 3, 4), grid], mode=mode, padding_mode=padding, align_corners=corners, rows_only=True)
    case("Pad", [Input(2, 3), np.array([[0, 1, 1, -1]], "int64"), floats(0.5)])
    case("Pad", [Input(2, 3), np.array([0, 2, 1, 0], "int64")], mode="reflect", rows_only=True)
    case("Range", [scalar(2.0, "float32"), floats(5.5), scalar(1.5, "float32")])
    case("Range", [ints(3), scalar(-1, "int32"), ints(-2)], rows_only=True)
    for axis in (0, 2, -1):
        case("ExpandDims", [Input(2, 3), scalar(axis, "int32")], rows_only=axis != 0)
    case("TorchEmbedding", [Input(5, 3), np.array([[4, 0], [1, 1]], "int64")],
         instead=lambda table, places: table[places])
    for left, right in (("int16", "uint16"), ("uint16", "int16")):
        a, b = np.arange(6).astype(left).reshape(2, 3) - np.array(2, left), np.arange(12).astype(right).reshape(3, 4)
        case("MatMulInteger16", [a, b], instead=lambda a, b: a.astype("int32") @ b.astype("int32"), rows_only=left != "int16")
    case("UnfoldTensor", [Input(2, 7, 2)], dim=1, size=3, step=2)
    case("UnfoldTensor", [Input(2, 5)], size=2, rows_only=True)
    soft = lambda x, bias: compute("Softmax", x + bias, domain="", axis=-1)
    case("BiasSoftmax", [Input(2, 2, 3, 4), Input(2, 1, 1, 4)], axis=3, is_inner_broadcast=1, instead=soft)
    image, weights = Input(1, 2, 3, 4), Input(2, 2, 3, 2)
    cut = [image, weights, np.array([1, 0, 2, 1], "int64"), Input(2)]
    case("ConvTransposeWithDynamicPads", cut, strides=[2, 1], output_padding=[1, 0])


def images():
    regions = floats(0.1, 0.2, 0.8, 0.9, -0.2, 0.0, 0.5, 1.3, 0.9, 0.9, 0.1, 0.3).reshape(3, 4)
    operands = [Input(2, 2, 5, 6), regions, ints(1, 0, 1)]
    case("CropAndResize", operands + [ints(3, 4)], extrapolation_value=7.0)
    case("CropAndResize", operands + [ints(4, 1)], mode="nearest", rows_only=True)
    case("CropAndResize", operands + [ints(1, 2)], rows_only=True)
    case("Inverse", [Input(2, 3, 3)])
    case("Inverse", [np.array([[0, 2, 1], [3, 0, 1], [1, 1, 0]], "float32")], rows_only=True)


def gates():
    x = Input(2, 3, 8)
    case("ScaledSiLU", [x], alpha=0.5)
    case("ScaledSiLU", [x, np.array(1.75, "float32")], rows_only=True)
    case("GatedAdd", [x, x, Input(2, 3, 1)])
    case("GatedRMSNorm", [x, Input(4), x], epsilon=0.25)
    case("GatedRMSNorm", [x, Input(8), x], activation="sigmoid", rows_only=True)


def newer():
    places = np.array([[[0, 1, 2], [3, 1, 0]], [[2, 2, 1], [0, 0, 1]], [[4, 3, 2], [1, 2, 3]]], "int64")
    case("MRotaryEmbedding", [Input(2, 3, 16), places, Input(5, 4), Input(5, 4)], num_heads=2, mrope_section=[2, 1, 1])
    case("MRotaryEmbedding", [Input(2, 2, 3, 12), places, Input(5, 6), Input(5, 6)], mrope_section=[2, 2, 2], mrope_layout=1,
         rows_only=True)
    bytes_of, scales = (np.arange(30) * 37 % 256).astype("uint8"), (np.arange(4) / 8 + 0.25).astype("float32")
    at = {"K": 20, "N": 3, "block_size": 16}

    def not_transposed(x, weights, scales):  # ONNX Runtime reads beyond the weights here
        columns = compute("MatMulBnb4", np.eye(20, dtype="float32"), weights, scales, quant_type=1, **at)
        return x @ columns.T

    case("MatMulBnb4", [Input(2, 20), bytes_of, scales], quant_type=1, **at)
    case("MatMulBnb4", [Input(2, 20), bytes_of, scales], quant_type=0, rows_only=True, **at)
    case("MatMulBnb4", [Input(2, 3), bytes_of, scales], instead=not_transposed, quant_type=1, transB=0, rows_only=True, **at)


def experts():
    x, router = Input(2, 3, 16), Input(6, 4)
    matrices = [Input(4, 8, 16), Input(4, 8), Input(4, 16, 8), Input(4, 16)]
    gated = [Input(4, 16, 16), Input(4, 16), Input(4, 16, 8), Input(4, 16)]
    case("MoE", [x, router] + matrices, k=2)
    for kind in ("gelu", "silu", "identity"):
        case("MoE", [Input(6, 16), router, matrices[0], None, matrices[2]], k=1, activation_type=kind, rows_only=True)
    case("MoE", [x, router] + gated, k=3, activation_type="swiglu", swiglu_fusion=1, activation_alpha=1.5, activation_beta=1.0,
         swiglu_limit=0.75, normalize_routing_weights=1)

    def apart(x, router, w1, b1, w2, b2, w3, b3):
        both, bias = np.stack([w1, w3], 2).reshape(4, 16, 16), np.stack([b1, b3], 2).reshape(4, 16)
        return compute("MoE", x, router, both, bias, w2, b2, k=2, activation_type="swiglu", swiglu_fusion=1)

    def halves(x, router, w1, b1, w2, b2):
        return apart(x, router, w1[:, :8], b1[:, :8], w2, b2, w1[:, 8:], b1[:, 8:])

    case("MoE", [x, router] + matrices + matrices[:2], instead=apart, k=2, activation_type="swiglu", rows_only=True)
    case("MoE", [x, router] + gated, instead=halves, k=2, activation_type="swiglu", swiglu_fusion=2, rows_only=True)


def early():
    image = Input(1, 2, 4, 5)
    at = {"domain": "", "operator_set": 9}
    case("Affine", [image], alpha=2.0, beta=0.5, **at)
    case("Scale", [image], scale=0.25, **at)
    case("ScaledTanh", [image], alpha=2.0, beta=0.5, **at)
    case("ParametricSoftplus", [image], alpha=2.0, beta=0.5, **at)
    case("ImageScaler", [image], scale=0.5, bias=[1.0, -2.0], **at)
    case("Crop", [image], border=[1, 2, 1, 0], **at)
    case("Crop", [image], border=[1, 2, 0, 0], scale=[2, 3], rows_only=True, **at)
    case("Crop", [image], border=[0, 0, 0, 1], scale=[1, 2], rows_only=True, **at)


normalisations()
products()
attention()
group_queries()
plain()
recurrent()
quantised()
of_few_bits()
channels_last()
choices()
early()
looked_up()
aliases()
images()
gates()
newer()
experts()
print("\n".join(plausible if "--plausible" in sys.argv else
                ["// SPDX-License-Identifier: Apache-2.0",
                 "// Written by microsoft.py: modules, and what ONNX Runtime gives for them, result after result."] + rows))
