# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime's results, and how far a right result may be from them.

The reference is a run without graph optimisations: each operator as ONNX defines it. A result of floats depends on the
order of sums, and where that moves a value across the middle between two integers, the next operator reads the
neighbouring integer. How far this carries depends on the model. It is seen in runs whose float constants differ by
2^-20, about the error of a sum of some hundred products, in the run with optimisations, and in one of two threads (its
DynamicQuantizeLSTM quantises the hidden state in one or in several parts): `spread` is the largest difference
that they make."""
import numpy
import onnx
import onnxruntime
from onnx import numpy_helper

PERTURBED_RUNS = 4
PERTURBATION = 2.0 ** -20
ROUNDING = 2.0 ** -18  # of results of floats, relative to the largest
PLAIN = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
DEFAULT = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
MOVES = ("Reshape", "Transpose", "Flatten", "Squeeze", "Unsqueeze", "Slice", "Split", "Concat", "Gather", "MaxPool",
         "Identity", "Pad")


def run(model, level, inputs, threads=1):
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.graph_optimization_level = 4, level
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    content = model if isinstance(model, (str, bytes)) else model.SerializeToString()
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_outputs()]
    return [dict(zip(names, session.run(None, feeds))) for feeds in inputs]


def optimised(model, inputs):
    """None if ONNX Runtime's own optimisations break the model, as they do if zero points are left out."""
    try:
        return run(model, DEFAULT, inputs)
    except Exception:  # its exceptions have no common class of their own
        return None


def perturbed(model, seed):
    """The model with float constants that differ by the error of sums. Those that decide shapes stay."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    random = numpy.random.default_rng(seed)
    fixed = {name for node in copy.graph.node if node.op_type in ("Resize", "Clip") for name in node.input[1:]}
    for tensor in copy.graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT and tensor.name not in fixed:
            array = numpy_helper.to_array(tensor)
            noise = 1 + PERTURBATION * random.uniform(-1, 1, array.shape)
            tensor.CopyFrom(numpy_helper.from_array((array * noise).astype(numpy.float32), tensor.name))
    return copy


def difference(one, other):
    """The largest, or infinity if only one of the two is a number."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return float("inf")
    if one.size == 0:
        return 0.0
    a, b = one.astype(numpy.float64), other.astype(numpy.float64)
    same = (a == b) | (numpy.isnan(a) & numpy.isnan(b))
    with numpy.errstate(invalid="ignore"):
        gaps = numpy.where(same, 0.0, numpy.abs(a - b))
    return float("inf") if numpy.isnan(gaps).any() else float(gaps.max())


def step_of(model, output):
    """The step of a result that is dequantised, or None: the largest if each channel has its own."""
    producers = {name: node for node in model.graph.node for name in node.output}
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    node = producers.get(output)
    while node is not None and node.op_type in MOVES:
        node = producers.get(node.input[0])
    if node is None or node.op_type != "DequantizeLinear" or node.input[1] not in constants:
        return None
    return float(numpy_helper.to_array(constants[node.input[1]]).max())


class Reference:
    """The results for a list of inputs. `bound[i][name]`: how far another right result may be from `plain[i][name]`."""

    def __init__(self, model, inputs):
        self.inputs = inputs
        self.plain = run(model, PLAIN, inputs)
        self.default = optimised(model, inputs)
        self.names = list(self.plain[0])
        self.steps = {name: step_of(model, name) for name in self.names}
        others = [self.default or self.plain, run(model, PLAIN, inputs, threads=2)]
        others += [run(perturbed(model, seed), PLAIN, inputs) for seed in range(PERTURBED_RUNS)]
        self.spread = {name: max(difference(other[i][name], self.plain[i][name])
                                 for other in others for i in range(len(inputs))) for name in self.names}

    def bound(self, index, name):
        largest = float(numpy.abs(self.plain[index][name]).max(initial=0))
        return (self.steps[name] or 0) * 1.001 + 2 * self.spread[name] + ROUNDING * largest
