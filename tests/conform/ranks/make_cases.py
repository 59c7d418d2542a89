#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the cases in this folder: models whose tensors have no known rank where they come from (inputs, loops,
sequences), with the outputs of ONNX Runtime.

usage: make_cases.py    (needs the packages onnx, onnxruntime and numpy)
"""
import pathlib

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
node, info = helper.make_node, helper.make_tensor_value_info
open_rank = {name: info(name, FLOAT, None) for name in ("x", "y", "s", "t")}


def numbers(*shape):
    return np.random.default_rng(18).uniform(-1, 1, shape).astype("f4")


def squeeze_if(condition, operand, result):
    """torch's squeeze(dim): the result has one of two ranks."""
    branches = {}
    for key, operator, more in (("then_branch", "Squeeze", ["first"]), ("else_branch", "Identity", [])):
        name = f"{result}_{key}"
        branches[key] = helper.make_graph([node(operator, [operand, *more], [name])], key, [], [info(name, FLOAT, None)])
    return node("If", [condition], [result], **branches)


def loop(operands, result, nodes):
    """A loop that carries 's' and makes 't' of it."""
    graph = helper.make_graph(
        [*nodes, node("Identity", ["go"], ["goes_on"])], "body",
        [info("turn", INT64, []), info("go", BOOL, []), open_rank["s"]], [info("goes_on", BOOL, []), open_rank["t"]],
    )
    return node("Loop", operands, [result], body=graph)


def write(name, nodes, inputs, constants=()):
    """`inputs`: name → (array or list of arrays, declared type)."""
    constants = {"first": np.array([0]), "one": np.array(1), **dict(constants)}
    used = {operand for n in nodes for operand in n.input} | {
        operand for n in nodes for a in n.attribute if a.HasField("g") for m in a.g.node for operand in m.input
    } | {operand for n in nodes for a in n.attribute if a.HasField("g") for m in a.g.node for b in m.attribute
         if b.HasField("g") for k in b.g.node for operand in k.input}
    initialisers = [numpy_helper.from_array(a, n) for n, a in constants.items() if n in used]
    graph = helper.make_graph(nodes, name, [declared for _, declared in inputs.values()], [open_rank["y"]], initialisers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="byoc")
    feeds = {key: value for key, (value, _) in inputs.items()}
    (result,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)
    folder = pathlib.Path(__file__).parent / name / "test_data_set_0"
    folder.mkdir(parents=True, exist_ok=True)
    (folder.parent / "model.onnx").write_bytes(model.SerializeToString())
    for i, (key, value) in enumerate(feeds.items()):
        proto = numpy_helper.from_list(value, key) if isinstance(value, list) else numpy_helper.from_array(value, key)
        (folder / f"input_{i}.pb").write_bytes(proto.SerializeToString())
    (folder / "output_0.pb").write_bytes(numpy_helper.from_array(result, "y").SerializeToString())


def main():
    x, row = numbers(1, 3), info("x", FLOAT, [1, 3])
    turns = {"n": (np.array(3), info("n", INT64, []))}
    condition = {"c": (np.array(True), info("c", BOOL, []))}
    body = [node("Equal", ["turn", "one"], ["now"]), squeeze_if("now", "s", "u"), node("Add", ["u", "u"], ["t"])]
    write("loop_loses_an_axis", [loop(["n", "", "x"], "y", body)], {**turns, "x": (x, row)})
    behind = [node("Reshape", ["z", "shape"], ["r"]), node("MatMul", ["r", "w"], ["y"])]
    constants = {"shape": np.array([1, 3]), "w": numbers(3, 2)}
    write("loop_and_behind", [loop(["n", "", "x"], "z", body), *behind], {**turns, "x": (x, row)}, constants)
    double = [node("Add", ["s", "s"], ["t"])]
    write("loop_begins_open", [squeeze_if("c", "x", "q"), loop(["n", "", "q"], "y", double)],
          {**turns, **condition, "x": (x, row)})
    grow = [node("Unsqueeze", ["s", "first"], ["t"])]
    write("loop_grows", [loop(["n", "", "x"], "y", grow)], {**turns, "x": (x, row)})
    write("input_elementwise", [node("Relu", ["x"], ["r"]), node("Softmax", ["r"], ["y"], axis=-1)],
          {"x": (numbers(2, 3, 4), open_rank["x"])})
    two = {name: (numbers(*shape), info(name, FLOAT, None)) for name, shape in (("a", (2, 1)), ("b", (3,)))}
    write("inputs_that_are_added", [node("Add", ["a", "b"], ["y"])], two)
    # Only one rank fits a convolution, also behind what takes any.
    weights = {"w": numbers(2, 3, 3, 3)}
    write("input_of_convolution", [node("Conv", ["x", "w"], ["y"])], {"x": (numbers(1, 3, 5, 6), open_rank["x"])}, weights)
    write("convolution_behind", [node("Relu", ["x"], ["r"]), node("Conv", ["r", "w"], ["z"]), node("Tanh", ["z"], ["y"])],
          {"x": (numbers(1, 3, 5, 6), open_rank["x"])}, weights)
    weights = {"w": numbers(2, 3, 3)}
    write("convolution_of_signals", [node("Relu", ["x"], ["r"]), node("Conv", ["r", "w"], ["y"])],
          {"x": (numbers(1, 3, 5), open_rank["x"])}, weights)
    sequence = helper.make_tensor_sequence_value_info("x", FLOAT, None)
    write("sequence_of_any", [node("SequenceAt", ["x", "one"], ["a"]), node("Relu", ["a"], ["r"]),
                              node("ReduceSum", ["r"], ["y"], keepdims=0)], {"x": ([x, numbers(2, 3)], sequence)})


if __name__ == "__main__":
    main()
