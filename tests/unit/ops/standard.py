#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes standard_cases.def: operators of ONNX with the results that ONNX Runtime, or ONNX's own reference, gives.

    python3 tests/unit/ops/standard.py > tests/unit/ops/standard_cases.def

Needs the packages numpy, onnx and onnxruntime. Sizes differ along each dimension, so that a wrong one is seen. A case runs
with the sizes that it has, and again with the sizes of its inputs open, unless is_open=False says that they must be
known.
"""
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

sys.dont_write_bytecode = True
from runtime_text import CODES, attribute, nested, start

IR_VERSION = 10
rows = []


class Input:
    """An input of a run. Without values, element i is known from its place: test_compute_standard.c fills it by the
    same rule."""

    def __init__(self, *shape, dtype="float32", values=None):
        self.values = None if values is None else np.array(values, dtype=dtype)
        self.shape = shape if values is None else self.values.shape
        self.dtype = dtype

    def array(self, place):
        if self.values is not None:
            return self.values
        numbers = (np.arange(int(np.prod(self.shape)), dtype=np.int64) * 37 + place * 11 + 5) % 251
        if self.dtype.startswith("float"):
            numbers = (numbers % 23 - 11) / 8
        elif self.dtype == "bool":
            numbers = numbers % 3 > 0
        elif not self.dtype.startswith("uint"):
            numbers = numbers - 125
        return numbers.astype(self.dtype).reshape(self.shape)

    def kind(self):
        return f"{CODES[self.dtype]}[{','.join(map(str, self.shape))}]"

    def given(self):
        """The values as the test reads them."""
        return "" if self.values is None else " ".join(written(x, self.dtype) for x in self.values.ravel())


def fed(values, dtype="int64"):
    return Input(dtype=dtype, values=values)


def const(values, dtype="int64"):
    return np.array(values, dtype=dtype)


def written(x, dtype):
    if dtype.startswith(("float", "bfloat")):
        return f"{float(x):.{12 if dtype == 'float64' else 7}g}"
    return str(int(x))


def described(array):
    """The shape and the elements of a result."""
    shape = ",".join(str(d) for d in array.shape)
    return " ".join([f"[{shape}]"] + [written(x, str(array.dtype)) for x in array.ravel()])


def text_of(op, version, inputs, flags, attributes):
    parameters, constants, operands = [], [], []
    for i, given in enumerate(inputs):
        if given is None:
            operands.append("_")
        elif isinstance(given, Input):
            parameters.append(f"%x{i} : {given.kind()}")
            operands.append(f"%x{i}")
        else:
            kind = f"{CODES[str(given.dtype)]}[{','.join(map(str, given.shape))}]"
            constants.append(f"  constant @x{i} : {kind} = {nested(given)}\\n")
            operands.append(f"@x{i}")
    names = [f"%y{i}" for i in range(len(flags))]
    wanted = [name for name, flag in zip(names, flags) if flag]
    braces = " {" + ", ".join(f"{k} = {attribute(v)}" for k, v in attributes.items()) + "}" if attributes else ""
    return ("module {\\n" + "".join(constants) + f"  func @main({', '.join(parameters)}) -> "
            f"({', '.join(name + ' : ?' for name in wanted)}) {{\\n    {', '.join(names)} = {op}@{version}"
            f"({', '.join(operands)}){braces} : {', '.join('?' for _ in flags)}\\n"
            f"    return {', '.join(wanted)}\\n  }}\\n}}\\n")


def results_of(op, inputs, flags, attributes, operator_set, by_reference):
    names, feeds, infos, initializers = [], {}, [], []
    for i, given in enumerate(inputs):
        names.append(f"x{i}" if given is not None else "")
        if isinstance(given, Input):
            feeds[names[i]] = given.array(len(feeds))
            kind = helper.np_dtype_to_tensor_dtype(np.dtype(given.dtype))
            infos.append(helper.make_tensor_value_info(names[i], kind, given.shape))
        elif given is not None:
            initializers.append(numpy_helper.from_array(given, names[i]))
    outputs = [f"y{i}" if flag else "" for i, flag in enumerate(flags)]
    node = helper.make_node(op, names, outputs, **attributes)
    graph = helper.make_graph([node], "g", infos, [onnx.ValueInfoProto(name=n) for n in outputs if n], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", operator_set)], ir_version=IR_VERSION)
    try:
        session = ReferenceEvaluator(model) if by_reference else start(model)
    except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:  # for these types
        session = ReferenceEvaluator(model)
    return session.run(None, feeds)


def case(op, inputs, outputs=1, operator_set=21, by_reference=False, is_open=True, **attributes):
    """`outputs` is a number, or a list of flags that say which results are wanted."""
    flags = [True] * outputs if isinstance(outputs, int) else outputs
    try:
        results = results_of(op, inputs, flags, attributes, operator_set, by_reference)
    except Exception as error:
        sys.exit(f"{op} {attributes}: {str(error)[:300]}")
    version = onnx.defs.get_schema(op, operator_set).since_version
    text = text_of(op, version, inputs, flags, attributes)
    given = ", ".join(f'"{x.given()}"' for x in inputs if isinstance(x, Input)) or "NULL"
    expected = ", ".join(f'"{described(np.asarray(result))}"' for result in results)
    rows.append(f'CASE("{text}", {str(is_open).lower()}, GIVEN({given}), EXPECTED({expected}))')


F16, F64, U8, I8, I32, I64 = "float16", "float64", "uint8", "int8", "int32", "int64"
X = Input(2, 3, 4)


def elementwise():
    for op in ("Abs", "Neg", "Exp", "Log", "Sqrt", "Reciprocal", "Floor", "Ceil", "Round", "Sign", "Sin", "Cos", "Tan",
               "Asin", "Acos", "Atan", "Sinh", "Cosh", "Tanh", "Asinh", "Acosh", "Atanh", "Erf", "Sigmoid", "Softplus",
               "Softsign", "HardSwish", "Mish", "Relu", "Gelu", "IsNaN", "HardSigmoid", "Elu", "Selu", "Celu",
               "LeakyRelu", "ThresholdedRelu", "Shrink"):
        case(op, [X])
        if op not in ("HardSwish", "Mish", "Gelu", "IsNaN", "Softsign", "Softplus", "Celu", "LeakyRelu", "Selu",
                      "ThresholdedRelu", "Shrink", "HardSigmoid", "Elu", "Erf", "Asin", "Acos", "Atan", "Sinh", "Cosh",
                      "Asinh", "Acosh", "Atanh", "Tan"):
            case(op, [Input(3, 5, dtype=F64)])
    case("Gelu", [X], approximate="tanh")
    case("HardSigmoid", [X], alpha=0.75, beta=0.125)
    case("Elu", [X], alpha=1.75)
    case("Selu", [X], alpha=1.25, gamma=0.5)
    case("Celu", [X], alpha=0.5)
    case("LeakyRelu", [X], alpha=-0.25)
    case("ThresholdedRelu", [X], alpha=0.25)
    case("Shrink", [X], lambd=0.75, bias=0.25)
    for kind in (I8, I32, I64, "int16"):
        case("Abs", [Input(2, 7, dtype=kind)])
        case("Neg", [Input(2, 7, dtype=kind)])
        case("Sign", [Input(2, 7, dtype=kind)])
    case("Not", [Input(3, 4, dtype="bool")])
    case("IsInf", [fed([1, np.inf, -np.inf, np.nan], "float32")], detect_negative=0)
    case("IsInf", [fed([1, np.inf, -np.inf, np.nan], "float32")], detect_positive=0)
    case("IsInf", [fed([1, np.inf, -np.inf, np.nan], "float32")])
    case("IsNaN", [fed([1, np.inf, -np.inf, np.nan], "float32")])
    case("Sign", [fed([0, -0.0, 3, -2], "float32")])
    case("Round", [fed([0.5, 1.5, 2.5, -0.5, -1.5, 1.4999], "float32")])
    case("PRelu", [X, Input(3, 1)])
    case("PRelu", [X, Input(4)])
    case("PRelu", [X, Input(1)])
    case("Clip", [X, const(-0.5, "float32"), const(0.75, "float32")])
    case("Clip", [X, None, const(0.25, "float32")])
    case("Clip", [X, const(0.25, "float32")])
    case("Clip", [X, fed(-0.25, "float32"), fed(0.5, "float32")])
    case("Clip", [Input(3, 4, dtype=I8), const(-100, I8), const(50, I8)])
    case("Clip", [X], operator_set=6, min=-0.25, max=0.5)
    case("Dropout", [X], [True, True], operator_set=13)
    for kind in ("float64", "int32", "int64", "int8", "bool", "float16"):
        case("Cast", [X], to=int(helper.np_dtype_to_tensor_dtype(np.dtype(kind))))
        case("Cast", [Input(3, 4, dtype=kind)], to=onnx.TensorProto.FLOAT)
    case("Cast", [Input(3, 4, dtype=I64)], to=onnx.TensorProto.INT8)
    case("CastLike", [X, Input(2, dtype=I32)])
    case("BitShift", [Input(3, 4, dtype=U8), fed([1, 2, 3, 0], U8)], direction="LEFT")
    case("BitShift", [Input(3, 4, dtype="uint32"), fed([1, 2, 3, 0], "uint32")], direction="RIGHT")
    for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
        case(op, [Input(3, 4, dtype=I32), Input(4, dtype=I32)])
    case("BitwiseNot", [Input(3, 4, dtype=I8)])
    case("EyeLike", [Input(3, 5)], k=1)
    case("EyeLike", [Input(4, 3)], k=-2, dtype=onnx.TensorProto.INT32)


def broadcasts():
    for op in ("Add", "Sub", "Mul", "Div", "Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"):
        case(op, [X, Input(3, 1)])
        case(op, [Input(3, 1), Input(2, 1, 5)])
        case(op, [Input(3, 4, dtype=I32), fed([3, -7, 5, 2], I32)])
    for op in ("Add", "Sub", "Mul"):
        case(op, [Input(3, 4, dtype=I8), Input(4, dtype=I8)])
        case(op, [Input(3, 4, dtype=F16), Input(4, dtype=F16)])
    case("Div", [Input(3, 4, dtype=F64), fed([3, 7, 5, 2], F64)])
    case("Div", [Input(3, 4, dtype=U8), fed([3, 7, 5, 2], U8)])
    case("Pow", [Input(3, 4), fed([2, 3, 0, 1], "float32")])
    case("Pow", [Input(3, 4), fed([2, 3, 0, 1], I64)])
    case("Pow", [Input(2, 5, dtype=I32), fed(2, I32)])
    for fmod in (0, 1):
        case("Mod", [Input(3, 4, dtype=I32), fed([3, -7, 5, -2], I32)], fmod=fmod)
    case("Mod", [Input(3, 4), fed([0.5, -0.75, 0.3, 1], "float32")], fmod=1)
    for op in ("And", "Or", "Xor"):
        case(op, [Input(2, 3, dtype="bool"), Input(2, 1, dtype="bool")])
    for op in ("Max", "Min", "Sum", "Mean"):
        case(op, [X, Input(3, 1), Input(4)])
        case(op, [X])
    for op in ("Max", "Min"):
        case(op, [Input(3, 4, dtype=I64), Input(4, dtype=I64)])
    case("Where", [Input(3, 1, dtype="bool"), X, Input(1, 4)])
    case("Where", [Input(4, dtype="bool"), Input(3, 1, dtype=I64), Input(3, 4, dtype=I64)])


def movement():
    case("Reshape", [X, const([0, -1, 2])])
    case("Reshape", [X, const([4, -1])])
    case("Reshape", [X, fed([6, 4])], is_open=False)
    case("Flatten", [Input(2, 3, 4, 5)], axis=-1)
    case("Flatten", [Input(2, 3, 4, 5)], axis=0)
    case("Flatten", [Input(2, 3, 4, 5)])
    case("Squeeze", [Input(2, 1, 3, 1), const([-1])], is_open=False)
    case("Squeeze", [Input(2, 1, 3, 1)], is_open=False)
    case("Squeeze", [Input(2, 1, 3, 1)], operator_set=11, axes=[1], is_open=False)
    case("Unsqueeze", [Input(2, 3), const([0, -1])])
    case("Unsqueeze", [Input(2, 3), const([2, 1])])
    case("Unsqueeze", [Input(2, 3)], operator_set=11, axes=[1, 3])
    case("Transpose", [X], perm=[2, 0, 1])
    case("Transpose", [X])
    case("Transpose", [Input(2, 3, 4, 5, dtype=U8)], perm=[3, 1, 0, 2])
    case("Expand", [Input(3, 1), const([2, 1, 4])])
    case("Expand", [Input(3, 1), fed([2, 3, 5])], is_open=False)
    case("Tile", [Input(2, 3), const([2, 3])])
    case("Tile", [Input(2, 3), fed([1, 2])])
    for axis in (0, 1, -1):
        shapes = [[2, 3, 4], [2, 3, 4], [2, 3, 4]]
        for i in range(3):
            shapes[i][axis] = 2 + 3 * i
        case("Concat", [Input(*shape) for shape in shapes], axis=axis)
    case("Split", [Input(2, 7), const([3, 0, 4])], 3, axis=1)
    case("Split", [Input(7, 2)], 3, num_outputs=3)
    case("Split", [Input(6, 2)], 3, operator_set=11)
    case("Split", [Input(2, 7)], 2, operator_set=11, axis=-1, split=[2, 5])
    case("Slice", [Input(5, 6), const([1, -2]), const([4, -7]), const([0, 1]), const([2, -2])])
    case("Slice", [Input(5, 6), const([-3]), const([100]), const([-1])])
    case("Slice", [Input(5, 6), const([4]), const([-100]), const([0]), const([-3])])
    case("Slice", [Input(5, 6), const([2, 1]), const([4, 3])])
    case("Slice", [Input(5, 6), fed([1, 5]), fed([4, 0]), const([0, 1]), fed([1, -2])], is_open=False)
    case("Slice", [Input(5, 6)], operator_set=9, starts=[1, -2], ends=[4, 1000], axes=[0, 1])
    case("Gather", [Input(4, 3, 5), const([[2, -1], [0, 1]])], axis=1)
    case("Gather", [Input(4, 3), fed([3, 0, -2], I32)])
    case("Gather", [Input(4, 3, 5), fed(2)], axis=-1)
    case("GatherElements", [Input(3, 4), const([[2, -1, 0, 1], [0, 0, -3, 2]])], axis=0)
    case("GatherElements", [Input(3, 4), fed([[2, -1], [0, 0], [3, 1]])], axis=1)
    case("GatherND", [Input(2, 3, 4), const([[1, 2], [0, -1]])])
    case("GatherND", [Input(2, 3, 4), const([[[2, 3]], [[1, 0]]])], batch_dims=1)
    case("GatherND", [Input(2, 3, 4), const([[2], [-1]])], batch_dims=1)
    case("ScatterElements", [Input(3, 4), const([[2, 0], [1, 3]]), Input(2, 2)], axis=1)
    for reduction in ("add", "mul", "max", "min"):
        case("ScatterElements", [Input(3, 4), const([[2, 0], [1, -1]]), Input(2, 2)], operator_set=18, reduction=reduction)
        case("ScatterND", [Input(4, 3), const([[2], [0], [-1]]), Input(3, 3)], operator_set=18, reduction=reduction)
    case("ScatterND", [Input(4, 3, 2), fed([[2, 1], [0, -1]]), Input(2, 2)], is_open=False)
    case("Scatter", [Input(3, 4), const([[2, 0, 1, 1]]), Input(1, 4)], operator_set=9, axis=0)
    for block, mode in ((2, "DCR"), (2, "CRD"), (3, "DCR")):
        case("DepthToSpace", [Input(2, block * block * 3, 2, 3)], blocksize=block, mode=mode)
    case("SpaceToDepth", [Input(2, 3, 4, 6)], blocksize=2)
    case("SpaceToDepth", [Input(1, 2, 3, 9)], blocksize=3)
    for mode in ("constant", "edge", "reflect", "wrap"):
        case("Pad", [Input(3, 4), const([1, 2, 2, 1])], mode=mode)
        case("Pad", [Input(3, 4), fed([0, 3, 1, 2])], mode=mode)
    case("Pad", [Input(3, 4), const([1, 2, 0, -1]), const(2.5, "float32")])
    case("Pad", [Input(3, 4, 5), const([-1, 2, 1, 1]), const(-1, "float32"), const([2, 0])])
    case("Pad", [Input(3, 4)], operator_set=2, pads=[1, 0, 0, 2], value=0.5)
    case("Pad", [Input(3, 4, dtype=I32), const([1, 0, 0, 2]), const(7, I32)])
    for upper, k in ((1, 0), (0, 1), (1, -1), (0, -2), (1, 2)):
        case("Trilu", [Input(2, 4, 5), const(k)], upper=upper)
    case("Trilu", [Input(4, 3), fed(1)])
    case("ReverseSequence", [Input(5, 3, 2), const([2, 5, 1])])
    case("ReverseSequence", [Input(3, 5, 2), const([2, 5, 1])], batch_axis=0, time_axis=1)
    case("CenterCropPad", [Input(5, 4), const([3, 7])], by_reference=True, is_open=False)
    case("CenterCropPad", [Input(2, 5, 4), const([8, 3])], axes=[1, 2], by_reference=True, is_open=False)
    case("Col2Im", [Input(2, 12, 6), const([3, 4]), const([2, 2])], is_open=False)
    case("Col2Im", [Input(1, 8, 9), const([5, 6]), const([2, 2])], dilations=[1, 2], pads=[0, 1, 1, 1], strides=[2, 2],
         is_open=False)
    case("Compress", [Input(3, 4), const([1, 0, 1, 1], "bool")], axis=1)
    case("Compress", [Input(3, 4), fed([0, 1, 0, 1, 1, 0, 1], "bool")])
    case("NonZero", [fed([[0, 1, 2], [3, 0, 0]], "float32")])
    case("OneHot", [fed([1, 3, -1, 7]), const(5), const([2, 5], "float32")])
    case("OneHot", [fed([[1, 0], [3, 2]]), const(4), const([0, 1], I32)], axis=0)
    case("OneHot", [fed([[1, 0], [3, 2]]), const(4), const([0, 1], I64)], axis=1)
    case("Shape", [Input(2, 3, 4, 5)], start=1, end=-1)
    case("Shape", [Input(2, 3, 4, 5)], start=-3)
    case("Size", [X])
    case("Range", [fed(2), fed(11), fed(4)])
    case("Range", [fed(5, "float32"), fed(-1, "float32"), fed(-1.5, "float32")])
    case("ConstantOfShape", [fed([2, 3])], is_open=False)
    case("Identity", [Input(2, 3, dtype=I64)])


def reductions():
    for op in ("ReduceSum", "ReduceMean", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceLogSum",
               "ReduceLogSumExp", "ReduceSumSquare"):
        case(op, [X, const([1])])
        case(op, [X, const([0, -1])], keepdims=0)
        case(op, [X])
        case(op, [X], noop_with_empty_axes=1)
        case(op, [Input(2, 3, 4)], operator_set=11, axes=[-2], keepdims=0)
        if not op.startswith("ReduceLog"):
            case(op, [Input(3, 5, dtype=I32), const([0])])
    case("ReduceSum", [Input(3, 5, dtype=F64), const([1])])
    case("ReduceMax", [Input(3, 5, dtype=I8), const([1])])
    case("ReduceMin", [Input(3, 5, dtype=U8), const([0])])
    case("ReduceMax", [Input(3, 2, dtype="bool"), const([1])])
    for op in ("ArgMax", "ArgMin"):
        case(op, [X], axis=1)
        case(op, [X], axis=-1, keepdims=0)
        case(op, [fed([[1, 3, 3, 0, 0], [2, 2, -1, -1, 2]], "float32")], axis=1, select_last_index=1)
        case(op, [Input(5, 3, dtype=I32)])
    for op in ("Softmax", "LogSoftmax", "Hardmax"):
        case(op, [X])
        case(op, [X], axis=1)
        case(op, [X], axis=0)
        case(op, [X], operator_set=11)
        case(op, [X], operator_set=11, axis=2)
        case(op, [Input(3, 5, dtype=F64)])
    case("CumSum", [Input(3, 5), const(1)])
    case("CumSum", [Input(3, 5), const(0)], exclusive=1)
    case("CumSum", [Input(3, 5), const(-1)], reverse=1, exclusive=1)
    case("CumSum", [Input(3, 5, dtype=I32), fed(0, I32)], reverse=1)
    for largest, order in ((1, 1), (0, 1)):
        case("TopK", [Input(3, 6), const([4])], 2, largest=largest, sorted=order)
        case("TopK", [Input(4, 3, dtype=I32), fed([2])], 2, axis=0, largest=largest, sorted=order)
    case("TopK", [fed([[1, 3, 3, 0, 0], [2, 2, -1, -1, 2]], "float32"), const([3])], 2)
    case("TopK", [Input(3, 6)], 2, operator_set=9, k=2)
    case("Unique", [fed([3, 1, 1, 2, 3, 5, 2], "float32")], 4)
    case("Unique", [fed([3, 1, 1, 2, 3, 5, 2])], 4, sorted=0)
    case("Unique", [fed([[3, 1], [2, 0], [3, 1], [2, 1]])], 4, axis=0)
    case("Unique", [fed([[3, 1, 3], [2, 0, 2]], "float32")], 4, axis=1)


def normalisations():
    image, channels = Input(2, 3, 4, 5), [Input(3) for _ in range(3)] + [fed([0.5, 1.25, 2], "float32")]
    case("BatchNormalization", [image] + channels)
    case("BatchNormalization", [image] + channels, epsilon=0.25)
    case("BatchNormalization", [Input(2, 3)] + channels, epsilon=0.5)
    case("BatchNormalization", [image] + channels, 3, training_mode=1, momentum=0.75)
    case("InstanceNormalization", [image, Input(3), Input(3)], epsilon=0.25)
    case("InstanceNormalization", [Input(2, 3, 7), Input(3), Input(3)])
    case("LayerNormalization", [X, Input(4), Input(4)], epsilon=0.25)
    case("LayerNormalization", [X, Input(3, 4)], [True, True, True], axis=1)
    case("LayerNormalization", [Input(3, 4, dtype=F64), Input(4, dtype=F64)])
    case("GroupNormalization", [Input(2, 6, 3, 2), Input(6), Input(6)], num_groups=3, epsilon=0.25)
    case("GroupNormalization", [Input(2, 6, 3, 2), Input(3), Input(3)], num_groups=3, operator_set=18, by_reference=True)
    case("RMSNormalization", [X, Input(4)], operator_set=23, epsilon=0.25, by_reference=True)
    case("RMSNormalization", [X, Input(3, 4)], operator_set=23, axis=-2, by_reference=True)
    case("LpNormalization", [X], axis=1, p=1)
    case("LpNormalization", [X])
    case("MeanVarianceNormalization", [image])
    case("MeanVarianceNormalization", [X], axes=[1])
    case("LRN", [Input(1, 7, 2, 3)], size=3, alpha=0.5, beta=0.25, bias=2.0)
    case("LRN", [Input(2, 5, 3, 2)], size=5, alpha=0.75)


def products():
    case("MatMul", [Input(3, 4), Input(4, 5)])
    case("MatMul", [Input(2, 1, 3, 4), Input(5, 4, 6)])
    case("MatMul", [Input(4), Input(2, 4, 3)])
    case("MatMul", [Input(2, 3, 4), Input(4)])
    case("MatMul", [Input(4), Input(4)])
    case("MatMul", [Input(3, 4, dtype=I32), Input(4, 5, dtype=I32)])
    case("MatMul", [Input(3, 4, dtype=F64), Input(4, 2, dtype=F64)])
    for a in (0, 1):
        for b in (0, 1):
            case("Gemm", [Input(*((4, 3) if a else (3, 4))), Input(*((5, 4) if b else (4, 5))), Input(5)], transA=a, transB=b,
                 alpha=0.5, beta=-2.0)
    case("Gemm", [Input(3, 4), Input(4, 5), Input(3, 1)])
    case("Gemm", [Input(3, 4), Input(4, 5)])
    case("Gemm", [Input(3, 4), Input(4, 5), Input(1)], beta=0.25)
    for equation, shapes in (("ij,jk->ik", [(3, 4), (4, 5)]), ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]), ("ii->i", [(4, 4)]),
                             ("ij->", [(3, 4)]), ("i,j->ij", [(3,), (4,)]), ("...ij,...jk->...ik", [(2, 3, 4), (2, 4, 5)]),
                             ("ijk->kji", [(2, 3, 4)]), ("bhid,bhjd->bhij", [(2, 2, 3, 4), (2, 2, 5, 4)])):
        case("Einsum", [Input(*shape) for shape in shapes], equation=equation)
    case("MatMulInteger", [Input(3, 4, dtype=U8), Input(4, 5, dtype=I8), const(7, U8), const(-3, I8)])
    case("MatMulInteger", [Input(3, 4, dtype=U8), Input(4, 5, dtype=U8)])
    case("Det", [Input(2, 3, 3)], is_open=False)
    case("Det", [fed([[0, 2], [3, 1]], "float32")], is_open=False)


def windows():
    line, image, volume = Input(2, 3, 9), Input(2, 4, 7, 6), Input(1, 2, 5, 4, 6)

    def weights(*shape):
        return Input(*shape).array(5)

    known = {"is_open": False}
    case("Conv", [line, weights(5, 3, 3), weights(5)], strides=[2], pads=[1, 0], **known)
    case("Conv", [line, weights(4, 3, 2)], dilations=[3], pads=[0, 2], **known)
    case("Conv", [line, weights(4, 3, 2)], auto_pad="SAME_UPPER", **known)
    case("Conv", [line, weights(4, 3, 2)], dilations=[1], auto_pad="SAME_LOWER", strides=[2], **known)
    case("Conv", [image, weights(6, 4, 3, 2), weights(6)], strides=[2, 1], pads=[1, 0, 2, 1], dilations=[1, 2], **known)
    case("Conv", [image, weights(6, 2, 3, 3)], group=2, auto_pad="VALID", **known)
    case("Conv", [image, weights(8, 1, 3, 3), weights(8)], group=4, pads=[1, 1, 1, 1], strides=[2, 2], **known)
    case("Conv", [volume, weights(3, 2, 2, 3, 2), weights(3)], pads=[1, 0, 1, 0, 1, 1], strides=[1, 2, 1], **known)
    case("Conv", [image, Input(3, 4, 2, 3), Input(3)], **known)
    case("Conv", [Input(1, 3, 33, 9), weights(1, 3, 3, 3)], pads=[1, 1, 1, 1], **known)
    case("ConvTranspose", [line, weights(3, 5, 3), weights(5)], strides=[2], pads=[1, 0], output_padding=[1], **known)
    case("ConvTranspose", [Input(2, 4, 3, 4), weights(4, 3, 3, 2), weights(3)], strides=[2, 3], dilations=[2, 1], **known)
    case("ConvTranspose", [Input(1, 4, 3, 4), weights(4, 2, 2, 3)], group=2, pads=[0, 1, 1, 0], **known)
    case("ConvTranspose", [Input(1, 2, 3, 4), weights(2, 2, 3, 3)], strides=[2, 2], output_shape=[6, 9], **known)
    case("ConvTranspose", [Input(1, 2, 3, 4), weights(2, 2, 3, 3)], strides=[2, 2], auto_pad="SAME_LOWER", **known)
    for ceil in (0, 1):
        for pads in ([0, 0, 0, 0], [1, 0, 0, 1]):
            at = {"kernel_shape": [3, 2], "strides": [2, 3], "pads": pads, "ceil_mode": ceil}
            case("MaxPool", [image], 2, **at, **known)
            case("AveragePool", [image], **at, **known)
            case("AveragePool", [image], count_include_pad=1, **at, **known)
    case("MaxPool", [image], 2, kernel_shape=[2, 3], storage_order=1, dilations=[2, 1], **known)
    case("MaxPool", [Input(2, 3, 8, dtype=I8)], kernel_shape=[3], auto_pad="SAME_LOWER", strides=[2], **known)
    case("MaxPool", [volume], 2, kernel_shape=[2, 3, 2], strides=[2, 1, 3], **known)
    case("AveragePool", [line], kernel_shape=[3], auto_pad="SAME_UPPER", strides=[2], **known)
    case("AveragePool", [volume], kernel_shape=[2, 2, 3], pads=[1, 0, 1, 0, 1, 1], **known)
    case("AveragePool", [image], kernel_shape=[2, 2], dilations=[2, 3], pads=[1, 1, 0, 2], by_reference=True, **known)
    case("LpPool", [image], kernel_shape=[3, 2], strides=[2, 1], **known)
    case("LpPool", [line], kernel_shape=[2], p=1, operator_set=18, **known)
    for op in ("GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"):
        case(op, [image])
        case(op, [line])
    case("GlobalLpPool", [image], p=1)
    case("MaxUnpool", [Input(1, 2, 2, 2), const([[[[1, 3], [9, 11]], [[4, 7], [8, 15]]]])], kernel_shape=[2, 2],
         strides=[2, 2], **known)
    case("MaxUnpool", [Input(1, 1, 2, 2), const([[[[1, 3], [9, 11]]]]), const([1, 1, 5, 5])], kernel_shape=[2, 2],
         strides=[2, 2], by_reference=True, **known)
    regions = const([[1, 0, 1, 5, 4], [0, 2, 1, 3, 6], [1, 4, 4, 1, 2]], "float32")
    case("MaxRoiPool", [image, regions], pooled_shape=[2, 3], **known)
    case("MaxRoiPool", [image, regions], pooled_shape=[3, 2], spatial_scale=0.5, **known)
    boxes, images = const([[0.5, 1, 5, 4], [2, 1.25, 3.5, 6]], "float32"), const([1, 0])
    for mode in ("avg", "max"):
        for how in ("half_pixel", "output_half_pixel"):
            case("RoiAlign", [image, boxes, images], output_height=2, output_width=3, sampling_ratio=2, mode=mode,
                 spatial_scale=0.75, coordinate_transformation_mode=how, **known)
    case("RoiAlign", [image, boxes, images], output_height=3, output_width=2, **known)


def resampling():
    image, known = Input(1, 2, 5, 4), {"is_open": False}
    for mode in ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            for align in (0, 1):
                case("GridSample", [image, Input(1, 3, 2, 2)], mode=mode, padding_mode=padding, align_corners=align,
                     operator_set=16, **known)
    case("GridSample", [Input(2, 1, 3, 4, 5), Input(2, 2, 1, 3, 3)], operator_set=20, **known)
    case("GridSample", [Input(1, 2, 5, 4, dtype=F64), Input(1, 3, 2, 2, dtype=F64)], operator_set=16, **known)
    scales, sizes, no = const([1, 1, 1.6, 0.75], "float32"), const([1, 2, 3, 7]), const([], "float32")
    for how in ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric"):
        for mode in ("nearest", "linear", "cubic"):
            case("Resize", [image, None, scales], mode=mode, coordinate_transformation_mode=how, **known)
            case("Resize", [image, None, None, sizes], mode=mode, coordinate_transformation_mode=how, **known)
    for rounding in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
        case("Resize", [image, None, scales], nearest_mode=rounding, **known)
    case("Resize", [image, None, scales], mode="cubic", cubic_coeff_a=-0.5, exclude_outside=1, **known)
    region = const([0, 0, 0.2, 0.25, 1, 1, 0.75, 1.25], "float32")
    case("Resize", [image, region, None, sizes], mode="linear", coordinate_transformation_mode="tf_crop_and_resize",
         extrapolation_value=3.5, **known)
    for policy in ("not_larger", "not_smaller"):
        case("Resize", [image, None, None, const([7, 9])], axes=[2, 3], keep_aspect_ratio_policy=policy, **known)
    for mode in ("linear", "cubic"):
        case("Resize", [image, None, const([1, 1, 0.6, 0.5], "float32")], mode=mode, antialias=1, **known)
    case("Upsample", [image, const([1, 1, 2, 3], "float32")], operator_set=9, mode="linear", **known)
    case("Upsample", [image, const([1, 1, 2, 3], "float32")], operator_set=9, **known)
    case("AffineGrid", [Input(2, 2, 3), const([2, 1, 3, 4])], operator_set=20, **known)
    case("AffineGrid", [Input(1, 3, 4), const([1, 1, 2, 3, 2])], operator_set=20, align_corners=1, **known)


def quantised():
    scale, zero = const(0.05, "float32"), const(120, U8)
    case("QuantizeLinear", [X, scale, zero])
    case("QuantizeLinear", [X, const([0.05, 0.1, 0.02], "float32"), const([0, -5, 100], I8)], axis=1)
    case("QuantizeLinear", [X, const([0.05, 0.1, 0.02, 0.3], "float32")], axis=-1)
    case("QuantizeLinear", [Input(4, 6), Input(4, 3).array(0) ** 2 + const(0.125, "float32")], axis=1, block_size=2)
    case("DequantizeLinear", [Input(2, 3, 4, dtype=U8), scale, zero])
    case("DequantizeLinear", [Input(2, 3, 4, dtype=I8), const([0.05, 0.1, 0.02], "float32"), const([0, -5, 100], I8)], axis=1)
    case("DequantizeLinear", [Input(4, 6, dtype=U8), const(np.arange(12).reshape(4, 3) / 16 + 0.1, "float32"),
                              const(np.arange(12).reshape(4, 3) * 9, U8)], axis=1, block_size=2)
    case("DequantizeLinear", [Input(3, 4, dtype=I32), scale])
    case("DynamicQuantizeLinear", [X], 3)
    case("QLinearMatMul", [Input(3, 4, dtype=U8), scale, zero, Input(4, 5, dtype=I8), const(0.03, "float32"), const(-4, I8),
                           const(0.4, "float32"), const(99, U8)])
    case("QLinearConv", [Input(1, 2, 5, 4, dtype=U8), scale, zero, Input(3, 2, 3, 2, dtype=I8).array(3),
                         const([0.03, 0.01, 0.02], "float32"), const([0, 0, 0], I8), const(0.4, "float32"), const(99, U8),
                         const([100, -200, 300], I32)], pads=[1, 0, 0, 1], strides=[2, 1], is_open=False)
    case("ConvInteger", [Input(1, 2, 5, 4, dtype=U8), Input(3, 2, 3, 2, dtype=U8).array(3), const(7, U8), const(50, U8)],
         pads=[1, 0, 0, 1], strides=[2, 1], is_open=False)


def recurrent():
    def weights(directions, gates, size, width):
        return [Input(directions, gates * size, width).array(1), Input(directions, gates * size, size).array(2),
                Input(directions, 2 * gates * size).array(3)]

    x, known = Input(4, 2, 3), {"is_open": False}
    lengths = const([3, 4], I32)
    for op, gates, outputs in (("RNN", 1, 2), ("GRU", 3, 2), ("LSTM", 4, 3)):
        for direction, count in (("forward", 1), ("reverse", 1), ("bidirectional", 2)):
            states = [Input(count, 2, 5)] * (outputs - 1)
            case(op, [x] + weights(count, gates, 5, 3), outputs, hidden_size=5, direction=direction, **known)
            case(op, [x] + weights(count, gates, 5, 3) + [lengths] + states, outputs, hidden_size=5, direction=direction,
                 **known)
        case(op, [x] + weights(1, gates, 5, 3), outputs, hidden_size=5, clip=0.5, **known)
    case("GRU", [x] + weights(1, 3, 5, 3), 2, hidden_size=5, linear_before_reset=1, **known)
    case("GRU", [x] + weights(1, 3, 5, 3), 2, hidden_size=5, activations=["HardSigmoid", "LeakyRelu"],
         activation_alpha=[0.3, 0.02], activation_beta=[0.4], **known)
    case("RNN", [x] + weights(1, 1, 5, 3), 2, hidden_size=5, activations=["Relu"], **known)
    case("LSTM", [x] + weights(1, 4, 5, 3) + [None, None, None, Input(1, 15).array(4)], 3, hidden_size=5, **known)
    case("LSTM", [x] + weights(1, 4, 5, 3), 3, hidden_size=5, input_forget=1, **known)
    case("LSTM", [x] + weights(1, 4, 5, 3), 3, hidden_size=5, activations=["Sigmoid", "Relu", "Softsign"], **known)


def signals():
    for op in ("HannWindow", "HammingWindow", "BlackmanWindow"):
        case(op, [const(7)])
        case(op, [const(6)], periodic=0)
    case("DFT", [Input(2, 5, 1), None, const(1)], operator_set=20)
    case("DFT", [Input(2, 5, 2), const(7), const(1)], operator_set=20, is_open=False)
    case("DFT", [Input(2, 6, 3, 1), const(4), const(1)], operator_set=20, onesided=1, is_open=False)
    case("DFT", [Input(2, 6, 2)], operator_set=17, inverse=1, axis=1)
    case("STFT", [Input(2, 12, 1), const(3), None, const(6)], is_open=False)
    case("STFT", [Input(1, 12, 1), const(4), Input(5).array(2)], onesided=0, is_open=False)
    case("MelWeightMatrix", [const(6), const(16), const(8000), const(100.0, "float32"), const(3500.0, "float32")])


def losses():
    for reduction in ("none", "sum", "mean"):
        classes = const([[1, 0, 2, 2], [0, 0, 1, 2]])
        case("NegativeLogLikelihoodLoss", [Input(2, 3, 4), classes, Input(3)], reduction=reduction)
        case("NegativeLogLikelihoodLoss", [Input(2, 3, 4), classes], reduction=reduction, ignore_index=0)
        case("SoftmaxCrossEntropyLoss", [Input(2, 3, 4), classes, Input(3)], 2, reduction=reduction)
        case("SoftmaxCrossEntropyLoss", [Input(2, 3, 4), classes], 2, reduction=reduction, ignore_index=2)
    boxes = const([[[0, 0, 2, 2], [0, 0.5, 2, 2.5], [3, 3, 5, 6], [5, 6, 3, 3.5], [0, 0, 1, 1]]], "float32")
    scores = Input(1, 2, 5)
    case("NonMaxSuppression", [boxes, scores, const(3), const(0.4, "float32"), const(-1, "float32")])
    case("NonMaxSuppression", [boxes, scores, const(2), const(0.6, "float32"), const(-0.25, "float32")], center_point_box=1)


def attention():
    def heads(*sizes, dtype="float32"):
        return [Input(*size, dtype=dtype) for size in sizes]

    at = {"operator_set": 23, "by_reference": True, "is_open": False}
    case("Attention", heads((2, 4, 3, 5), (2, 2, 6, 5), (2, 2, 6, 7)), **at)
    case("Attention", heads((2, 3, 8), (2, 6, 4), (2, 6, 6)), q_num_heads=4, kv_num_heads=2, **at)
    case("Attention", heads((2, 4, 3, 5), (2, 4, 6, 5), (2, 4, 6, 7), (3, 6)), is_causal=1, scale=0.25, softcap=0.75, **at)
    case("Attention", heads((1, 2, 3, 4), (1, 2, 3, 4), (1, 2, 3, 4), (1, 2, 3, 8), (1, 2, 5, 4), (1, 2, 5, 4)), 4,
         qk_matmul_output_mode=1, **at)
    case("Attention", heads((2, 4, 3, 5), (2, 2, 6, 5), (2, 2, 6, 7), dtype=F16), **at)
    case("Attention", heads((2, 3, 24), (2, 6, 8), (2, 6, 6), (2, 1, 3, 6), dtype=F16), q_num_heads=6, kv_num_heads=2,
         is_causal=1, softcap=0.75, **at)
    case("Attention", heads((1, 4, 3, 4), (1, 2, 3, 4), (1, 2, 3, 4), (1, 4, 3, 8), (1, 2, 5, 4), (1, 2, 5, 4), dtype=F16),
         4, **at)
    cache = [Input(9, 3), Input(9, 3)]
    places = const([[0, 2, 8], [3, 1, 5]])
    case("RotaryEmbedding", [Input(2, 4, 3, 6)] + cache + [places], **at)
    case("RotaryEmbedding", [Input(2, 4, 3, 6)] + cache + [places], interleaved=1, **at)
    case("RotaryEmbedding", [Input(2, 3, 16), Input(9, 2), Input(9, 2), places], num_heads=2, rotary_embedding_dim=4, **at)


elementwise()
broadcasts()
movement()
reductions()
normalisations()
products()
windows()
resampling()
quantised()
recurrent()
signals()
losses()
attention()
print("\n".join(["// SPDX-License-Identifier: Apache-2.0",
                 "// Written by standard.py: modules, whether their sizes can be open, the values of inputs that no rule gives,",
                 "// and the results by ONNX Runtime."] + rows))
