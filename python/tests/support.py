# SPDX-License-Identifier: Apache-2.0
"""What the tests share: models, and a folder for each of them."""

import os
import shutil
import tempfile
import unittest

import numpy as np

try:
    import onnx
    from onnx import TensorProto, helper
except ImportError:
    onnx = None

needs_onnx = unittest.skipIf(onnx is None, "this python has no onnx")


def make(nodes, inputs, outputs, initializers=(), opset=17):
    """The bytes of a model. Inputs and outputs: (name, type of TensorProto, shape)."""
    graph = helper.make_graph(
        list(nodes),
        "test",
        [helper.make_tensor_value_info(*row) for row in inputs],
        [helper.make_tensor_value_info(*row) for row in outputs],
        list(initializers),
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    return model.SerializeToString()


def linear(rows=2):
    """y = relu(x w), with `rows` rows or an open number of them."""
    random = np.random.default_rng(1)
    weights = random.standard_normal((4, 3)).astype(np.float32)
    return make(
        [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Relu", ["p"], ["y"])],
        [("x", TensorProto.FLOAT, [rows, 4])],
        [("y", TensorProto.FLOAT, [rows, 3])],
        [helper.make_tensor("w", TensorProto.FLOAT, [4, 3], weights.tobytes(), raw=True)],
    )


def unary(op, dtype, shape=(2, 3)):
    return make([helper.make_node(op, ["x"], ["y"])], [("x", dtype, list(shape))], [("y", dtype, list(shape))])


class InFolder(unittest.TestCase):
    """Each test has an empty folder, self.folder."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="byoc-test-")
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)
