# SPDX-License-Identifier: Apache-2.0
"""Writes small ONNX models of floats, with random weights from a fixed seed."""
import zlib

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

BATCH = "batch"


class Net:
    """A model that grows node by node. Each method that adds a node returns the name of its result."""

    def __init__(self, name, opset=17):
        self.name, self.opset = name, opset
        self.random = numpy.random.default_rng(zlib.crc32(name.encode()))
        self.nodes, self.constants, self.inputs, self.outputs, self.counts = [], [], [], [], {}

    def name_of(self, stem):
        self.counts[stem] = self.counts.get(stem, 0) + 1
        return f"{stem}_{self.counts[stem]}"

    def input(self, name, shape, element=TensorProto.FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, element, shape))
        return name

    def output(self, value, shape, name=None):
        """The model's result. Its own name stays if `name` is not given."""
        if name is not None:
            self.nodes[-1].output[list(self.nodes[-1].output).index(value)] = name
        self.outputs.append(helper.make_tensor_value_info(name or value, TensorProto.FLOAT, shape))

    def constant(self, array, stem="constant"):
        name = self.name_of(stem)
        self.constants.append(numpy_helper.from_array(numpy.asarray(array), name))
        return name

    def weights(self, *shape, fan_in=None, stem="weights"):
        """Random weights which keep the variance of what they are multiplied by."""
        scale = (2.0 / (fan_in or shape[0])) ** 0.5
        return self.constant(self.random.normal(0, scale, shape).astype(numpy.float32), stem)

    def bias(self, count):
        return self.constant(self.random.normal(0, 0.1, count).astype(numpy.float32), "bias")

    def op(self, kind, *operands, results=1, **attributes):
        name = self.name_of(kind.lower())
        outputs = [f"{name}_out" if results == 1 else f"{name}_out{i}" for i in range(results)]
        self.nodes.append(helper.make_node(kind, operands, outputs, name, **attributes))
        return outputs[0] if results == 1 else outputs

    def conv(self, x, inputs, outputs, kernel=3, stride=1, group=1, bias=True, dilation=1, dims=2, pads=None):
        pad = dilation * (kernel - 1) // 2 if pads is None else pads
        fan_in = inputs // group * kernel ** dims
        operands = [x, self.weights(outputs, inputs // group, *[kernel] * dims, fan_in=fan_in)]
        operands += [self.bias(outputs)] if bias else []
        return self.op("Conv", *operands, kernel_shape=[kernel] * dims, strides=[stride] * dims, group=group,
                       dilations=[dilation] * dims, pads=[pad] * (2 * dims))

    def gemm(self, x, inputs, outputs, transposed=True):
        shape = (outputs, inputs) if transposed else (inputs, outputs)
        return self.op("Gemm", x, self.weights(*shape, fan_in=inputs), self.bias(outputs), transB=int(transposed))

    def linear(self, x, inputs, outputs, bias=True):
        product = self.op("MatMul", x, self.weights(inputs, outputs, fan_in=inputs))
        return self.op("Add", product, self.bias(outputs)) if bias else product

    def clip(self, x, least=0.0, most=6.0):
        return self.op("Clip", x, self.constant(numpy.float32(least)), self.constant(numpy.float32(most)))

    def reshape(self, x, *shape):
        return self.op("Reshape", x, self.constant(numpy.array(shape, numpy.int64), "shape"))

    def mean(self, x, *axes):
        if self.opset < 18:
            return self.op("ReduceMean", x, axes=list(axes), keepdims=1)
        return self.op("ReduceMean", x, self.constant(numpy.array(axes, numpy.int64), "axes"), keepdims=1)

    def normalise(self, x, width):
        gain = self.constant(self.random.uniform(0.5, 1.5, width).astype(numpy.float32), "gain")
        return self.op("LayerNormalization", x, gain, self.bias(width), axis=-1, epsilon=1e-5)

    def classify(self, x, channels, classes=10):
        """The usual end of an image network."""
        pooled = self.op("GlobalAveragePool", x)
        self.output(self.gemm(self.op("Flatten", pooled), channels, classes), [BATCH, classes], "y")

    def model(self):
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=10)
        onnx.checker.check_model(model)
        return model
