#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the cases in this folder: models that break no rule, or only one that is overlooked everywhere, and that a
compiler of fixed shapes finds hard: lists of open length, ranks and kernels that only the run knows, declared shapes
that are wrong, old forms of operators. The expected outputs are those of ONNX Runtime where it computes what the
specification says, else those of the lines of NumPy here.

usage: make_cases.py    (needs the packages onnx, onnxruntime and numpy)
"""
import pathlib

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64, INT32, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL
FOLDER = pathlib.Path(__file__).parent
node, info = helper.make_node, helper.make_tensor_value_info


def numbers(*shape, seed=29):
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype("f4")


def ints(*values):
    return np.array(values, "i8")


def constant(name, values):
    return numpy_helper.from_array(np.array(values), name)


def model_of(nodes, inputs, outputs, constants=(), values=(), opset=17, ir=8, domains=(), imports=True):
    graph = helper.make_graph(nodes, "valid", inputs, outputs, list(constants), value_info=list(values))
    sets = [helper.make_opsetid("", opset)] + [helper.make_opsetid(d, 1) for d in domains if imports]
    return helper.make_model(graph, opset_imports=sets, ir_version=ir, producer_name="byoc")


def write(name, model, *data_sets, expected=None):
    """`data_sets`: name → array. `expected`: for each, the list of outputs; None: those of ONNX Runtime."""
    folder = FOLDER / name
    folder.mkdir(exist_ok=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    if expected is None:
        onnxruntime.set_default_logger_severity(4)  # it warns of declared shapes that are wrong
        session = onnxruntime.InferenceSession(model.SerializeToString())
        expected = [session.run(None, feeds) for feeds in data_sets]
    for i, (feeds, results) in enumerate(zip(data_sets, expected)):
        data = folder / f"test_data_set_{i}"
        data.mkdir(exist_ok=True)
        for k, (key, value) in enumerate(feeds.items()):
            (data / f"input_{k}.pb").write_bytes(numpy_helper.from_array(np.asarray(value), key).SerializeToString())
        for k, (output, value) in enumerate(zip(model.graph.output, results)):
            (data / f"output_{k}.pb").write_bytes(
                numpy_helper.from_array(np.asarray(value), output.name).SerializeToString()
            )


def write_listed(name, op, x, lists, *samples, **attributes):
    """An operator whose lists have an open length; `samples` are the lists of a run each, behind x."""
    inputs = [info("x", FLOAT, ["n", *x.shape[1:]])] if x is not None else []
    inputs += [info(key, INT64, [f"length_{key}"]) for key in lists]
    made = model_of([node(op, [i.name for i in inputs], ["y"], **attributes)], inputs, [info("y", FLOAT, None)])
    first = {} if x is None else {"x": x}
    write(name, made, *[{**first, **dict(zip(lists, sample))} for sample in samples])


def write_lists():
    x = numbers(2, 3)
    write_listed("reshape_by_open_list", "Reshape", x, "s", [ints(6)], [ints(3, 2)], [ints(1, 2, -1)],
                 [ints(2, 1, 3, 1)])
    write_listed("expand_by_open_list", "Expand", x, "s", [ints()], [ints(3)], [ints(2, 1)], [ints(4, 2, 3)])
    write_listed("constant_of_open_list", "ConstantOfShape", None, "s", [ints()], [ints(3)], [ints(2, 0)], [ints(1, 2, 3)])
    write_listed("squeeze_by_open_list", "Squeeze", numbers(1, 3, 1, 1), "s", [ints(2)], [ints(-1, 0)], [ints(0, 2, 3)])
    write_listed("unsqueeze_by_open_list", "Unsqueeze", x, "s", [ints(0)], [ints(0, 3)], [ints(-1)])
    for keepdims in 0, 1:
        write_listed(f"reduce_by_open_list_{keepdims}", "ReduceSum", numbers(2, 3, 2), "s", [ints()], [ints(1)],
                     [ints(-1, 0)], [ints(0, 1, 2)], keepdims=keepdims)
    write_listed("slice_by_open_lists", "Slice", numbers(4, 3), "se", [ints(), ints()], [ints(1), ints(3)],
                 [ints(-3, 1), ints(100, 2)])
    write_listed("slice_all_by_open_lists", "Slice", numbers(4, 3), "seat", [ints(1), ints(3), ints(1), ints(1)],
                 [ints(3, 2), ints(0, -100), ints(0, -1), ints(-1, -2)])
    chain = [node("Unsqueeze", ["x", "a"], ["u"]), node("Expand", ["u", "s"], ["e"]), node("Relu", ["e"], ["y"])]
    lists = [info("a", INT64, ["k"]), info("s", INT64, ["j"])]
    write("open_lists_in_a_row", model_of(chain, [info("x", FLOAT, ["n", 3]), *lists], [info("y", FLOAT, None)]),
          {"x": x, "a": ints(0), "s": ints(4, 2, 3)}, {"x": x, "a": ints(), "s": ints(1)})


def write_computed_starts():
    """Slice by starts that are a slice themselves; tf2onnx writes CropAndResize as a Loop of such slices."""
    inputs = [info("x", FLOAT, [2, 4]), info("at", INT64, [2]), info("k", INT64, [1]), info("k1", INT64, [1])]
    sliced = [node("Slice", ["at", "k", "k1"], ["s"]), node("Add", ["s", "one"], ["e"]),
              node("Slice", ["x", "s", "e", "axis"], ["y"])]
    constants = [constant("one", ints(1)), constant("axis", ints(0))]
    write("slice_by_sliced_starts", model_of(sliced, inputs, [info("y", FLOAT, None)], constants, opset=11),
          {"x": numbers(2, 4), "at": ints(1, 0), "k": ints(0), "k1": ints(1)})
    turn = [node("Identity", ["go"], ["goes_on"]), node("Add", ["turn", "one"], ["next"]),
            node("Reshape", ["turn", "list"], ["k"]), node("Reshape", ["next", "list"], ["k1"]),
            node("Slice", ["at", "k", "k1"], ["s"]), node("Add", ["s", "one"], ["e"]),
            node("Slice", ["x", "s", "e", "axis"], ["part"]), node("Transpose", ["part"], ["t"], perm=[0, 3, 1, 2])]
    body = helper.make_graph(turn, "body", [info("turn", INT64, []), info("go", BOOL, [])],
                             [info("goes_on", BOOL, []), info("t", FLOAT, None)])
    crop = [node("Size", ["at"], ["count"]), node("Loop", ["count", "go_on"], ["y"], body=body)]
    constants += [constant("list", ints(-1)), constant("go_on", np.array(True))]
    write("crops_in_a_loop", model_of(crop, [info("x", FLOAT, [2, 4, 4, 3]), info("at", INT64, [2])],
                                      [info("y", FLOAT, None)], constants, opset=11),
          {"x": numbers(2, 4, 4, 3), "at": ints(1, 0)})


def write_squeeze():
    samples = [{"x": numbers(*shape)} for shape in ((2, 3, 2), (1, 3, 2), (2, 1, 2), (1, 1, 2))]
    for opset in 11, 17:
        write(f"squeeze_of_open_{opset}", model_of([node("Squeeze", ["x"], ["y"])], [info("x", FLOAT, ["a", "b", 2])],
                                                   [info("y", FLOAT, None)], opset=opset), *samples)
    behind = [node("Squeeze", ["x"], ["q"]), node("Unsqueeze", ["q", "first"], ["u"]), node("Add", ["u", "q"], ["y"])]
    write("squeeze_and_behind", model_of(behind, [info("x", FLOAT, ["a", "b", 2])], [info("y", FLOAT, None)],
                                         [constant("first", ints(0))]), *samples)
    pooled = [node("GlobalAveragePool", ["x"], ["p"]), node("Squeeze", ["p"], ["q"]), node("MatMul", ["q", "w"], ["y"])]
    write("squeeze_of_one_picture", model_of(pooled, [info("x", FLOAT, ["n", 3, 4, 4])], [info("y", FLOAT, ["n", 5])],
                                             [constant("w", numbers(3, 5))]),
          {"x": numbers(2, 3, 4, 4)}, {"x": numbers(1, 3, 4, 4)})


def write_declared():
    """Declared shapes are hints: what is computed stands, inside and outside."""
    x = np.array([[0, 1, 0], [1, 1, 1]], "f4")
    rows = [info("x", FLOAT, ["n", 3])]
    write("declared_output", model_of([node("NonZero", ["x"], ["y"])], rows, [info("y", INT64, [2, 1])]), {"x": x})
    inside = [node("NonZero", ["x"], ["t"]), node("Neg", ["t"], ["y"])]
    write("declared_inside", model_of(inside, rows, [info("y", INT64, [2, "k"])], values=[info("t", INT64, [2, 1])]),
          {"x": x})
    reshape = model_of([node("Reshape", ["x", "s"], ["y"])], [info("x", FLOAT, ["n"]), info("s", INT64, [2])],
                       [info("y", FLOAT, [1, 4])])
    write("declared_reshape", reshape, {"x": numbers(6), "s": ints(2, 3)})
    write("declared_rank", model_of([node("Squeeze", ["x"], ["y"])], rows, [info("y", FLOAT, ["m"])]),
          {"x": numbers(5, 3)}, {"x": numbers(1, 3)})
    gelu = model_of([node("Gelu", ["x"], ["y"], domain="com.microsoft")], rows, [info("y", FLOAT, ["n", 3])],
                    domains=["com.microsoft"], imports=False)
    write("domain_not_imported", gelu, {"x": numbers(2, 3)})


def write_convolutions():
    open_x, open_w = info("x", FLOAT, ["n", "c", "h", "v"]), info("w", FLOAT, ["m", "d", "kh", "kw"])
    outputs = [info("y", FLOAT, None)]
    plain = model_of([node("Conv", ["x", "w", "b"], ["y"], pads=[1, 1, 1, 1], strides=[2, 2])],
                     [open_x, open_w, info("b", FLOAT, ["m"])], outputs)
    write("conv_by_open_weights", plain, *[
        {"x": numbers(2, c, 9, 7), "w": numbers(m, c, kh, kw), "b": numbers(m)}
        for c, m, kh, kw in ((3, 4, 3, 2), (1, 1, 1, 1), (17, 33, 3, 3))])
    grouped = model_of([node("Conv", ["x", "w"], ["y"], pads=[1, 0, 2, 1], strides=[2, 1], dilations=[1, 2], group=2)],
                       [info("x", FLOAT, ["n", 4, "h", "v"]), info("w", FLOAT, ["m", 2, "kh", "kw"])], outputs)
    write("conv_by_open_groups", grouped, *[{"x": numbers(2, 4, 9, 10), "w": numbers(m, 2, kh, kw)}
                                            for m, kh, kw in ((2, 1, 1), (4, 3, 2))])
    same = model_of([node("Conv", ["x", "w"], ["y"], auto_pad="SAME_LOWER", strides=[2, 2])], [open_x, open_w], outputs)
    write("conv_by_open_weights_same", same, *[{"x": numbers(1, 3, 9, 8), "w": numbers(5, 3, k, 3)} for k in (1, 2, 5)])


def write_learned():
    """The attributes state how many features there are."""
    domain, outputs = "ai.onnx.ml", [info("y", FLOAT, None)]
    x = {"x": numbers(4, 3)}
    tree = dict(nodes_treeids=[0, 0, 0], nodes_nodeids=[0, 1, 2], nodes_featureids=[2, 0, 0],
                nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"], nodes_values=[0.1, 0.0, 0.0], nodes_truenodeids=[1, 0, 0],
                nodes_falsenodeids=[2, 0, 0], target_treeids=[0, 0], target_nodeids=[1, 2], target_ids=[0, 0],
                target_weights=[1.0, 2.0], n_targets=1)
    operators = {
        "LinearRegressor": dict(coefficients=[1.0, 2.0, 3.0], intercepts=[0.5], targets=1),
        "SVMRegressor": dict(coefficients=[1.0, -1.0], support_vectors=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], n_supports=2,
                             kernel_type="RBF", kernel_params=[0.1, 0.0, 3.0], rho=[0.2]),
        "Imputer": dict(imputed_value_floats=[1.0, 2.0, 3.0], replaced_value_float=0.0),
        "TreeEnsembleRegressor": tree,
    }
    for op, attributes in operators.items():
        made = model_of([node(op, ["x"], ["y"], domain=domain, **attributes)], [info("x", FLOAT, [None, None])],
                        outputs, domains=[domain])
        write(f"open_features_{op}", made, x)
    labels = [info("l", INT64, None), *outputs]
    linear = dict(coefficients=[1.0, 2.0, 3.0, -1.0, -2.0, -3.0], intercepts=[0.5, 0.1], classlabels_ints=[0, 1])
    svm = dict(coefficients=[1.0, -1.0], support_vectors=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], vectors_per_class=[1, 1],
               kernel_type="LINEAR", kernel_params=[0.1, 0.0, 3.0], rho=[0.2], classlabels_ints=[0, 1], prob_a=[0.5], prob_b=[0.1])
    for op, attributes in (("LinearClassifier", linear), ("SVMClassifier", svm)):
        made = model_of([node(op, ["x"], ["l", "y"], domain=domain, **attributes)], [info("x", FLOAT, [None, None])],
                        labels, domains=[domain])
        write(f"open_features_{op}", made, x)


def scan_of(steps):
    return helper.make_graph(steps, "step", [info("s", FLOAT, [2]), info("e", FLOAT, [2])],
                             [info("t", FLOAT, [2]), info("r", FLOAT, [2])])


def write_scans():
    step = scan_of([node("Add", ["s", "e"], ["t"]), node("Mul", ["t", "e"], ["r"])])
    outputs = [info("f", FLOAT, None), info("y", FLOAT, None)]
    for directions in [0], [1]:
        scan = node("Scan", ["l", "s0", "x"], ["f", "y"], body=step, num_scan_inputs=1, directions=directions)
        inputs = [info("l", INT64, ["b"]), info("s0", FLOAT, ["b", 2]), info("x", FLOAT, ["b", "t", 2])]
        write(f"scan_with_lengths_{directions[0]}", model_of([scan], inputs, outputs, opset=8, ir=3), *[
            {"l": ints(*lengths), "s0": numbers(3, 2), "x": numbers(3, 4, 2)} for lengths in ((4, 4, 4), (1, 3, 2))])
    scan = node("Scan", ["s0", "x"], ["f", "y"], body=step, num_scan_inputs=1)
    made = model_of([scan], [info("s0", FLOAT, [2]), info("x", FLOAT, [0, 2])], outputs)
    start = numbers(2)
    write("scan_over_nothing", made, {"s0": start, "x": numbers(0, 2)}, expected=[[start, numbers(0, 2)]])


def write_nbits():
    depth, columns, block = 56, 8, 16
    blocks = -(-depth // block)
    rng = np.random.default_rng(29)
    packed = rng.integers(0, 256, (columns, blocks, block // 2)).astype("u1")
    scales = rng.uniform(0.1, 1, columns * blocks).astype("f4")
    zeros = rng.integers(0, 256, columns * ((blocks + 1) // 2)).astype("u1")
    orders = {"order": rng.permutation(np.arange(depth) // block), "any": rng.integers(0, blocks, depth)}
    x = numbers(3, depth)
    values = np.stack([packed & 15, packed >> 4], -1).reshape(columns, -1)[:, :depth].astype("f8")
    points = np.stack([zeros & 15, zeros >> 4], -1).reshape(columns, -1)[:, :blocks].astype("f8")
    for name, order in orders.items():
        # ONNX Runtime leaves the zero points out where there is an order.
        weights = (values - points[:, order]) * scales.reshape(columns, blocks)[:, order]
        constants = {"B": packed, "scales": scales, "zeros": zeros, "order": order.astype("i4")}
        product = node("MatMulNBits", ["x", *constants], ["y"], domain="com.microsoft", K=depth, N=columns, bits=4,
                       block_size=block)
        outputs, expected = [info("y", FLOAT, ["n", columns])], [[(x @ weights.T).astype("f4")]]
        made = model_of([product], [info("x", FLOAT, ["n", depth])], outputs,
                        [constant(*item) for item in constants.items()], domains=["com.microsoft"])
        write(f"nbits_of_blocks_in_{name}", made, {"x": x}, expected=expected)
        if name == "order":
            types = {"u1": TensorProto.UINT8, "f4": FLOAT, "i4": INT32}
            inputs = [info(key, types[value.dtype.str[1:]], value.shape) for key, value in constants.items()]
            made = model_of([product], [info("x", FLOAT, ["n", depth]), *inputs], outputs, domains=["com.microsoft"])
            write("nbits_given", made, {"x": x, **constants}, expected=expected)


def write_forms():
    """Old and rare forms of operators and graphs."""
    x = numbers(2, 3, 4)
    made = model_of([node("Reshape", ["x"], ["y"], shape=[0, -1])], [info("x", FLOAT, ["n", 3, 4])],
                    [info("y", FLOAT, None)], opset=1, ir=3)
    write("reshape_by_attribute", made, {"x": x}, expected=[[x.reshape(2, 12)]])
    for op, inputs in (("LayerNormalization", ["x", "w"]),):
        made = model_of([node(op, inputs, ["y", "m", "d"], axis=-1, stash_type=0)],
                        [info("x", FLOAT, ["n", 3, 4]), info("w", FLOAT, [4])],
                        [info(key, FLOAT, None) for key in "ymd"])
        write("undefined_stash_type", made, {"x": x, "w": numbers(4)})
    # A sparse value, with indices of one and of two numbers.
    dense = np.zeros((2, 3), "f4")
    dense[0, 1], dense[1, 2] = 1, 2
    for rank, at in ((1, [1, 5]), (2, [0, 1, 1, 2])):
        sparse = helper.make_sparse_tensor(helper.make_tensor("v", FLOAT, [2], [1.0, 2.0]),
                                           helper.make_tensor("i", INT64, [2] if rank == 1 else [2, 2], at), [2, 3])
        nodes = [node("Constant", [], ["k"], sparse_value=sparse), node("Add", ["x", "k"], ["y"])]
        made = model_of(nodes, [info("x", FLOAT, ["n", 3])], [info("y", FLOAT, None)])
        write(f"sparse_constant_{rank}", made, {"x": numbers(2, 3)}, expected=[[numbers(2, 3) + dense]])
    nothing = helper.make_graph([], "nothing", [], [])
    branch = node("If", ["c"], [], then_branch=nothing, else_branch=nothing)
    made = model_of([branch, node("Relu", ["x"], ["y"])], [info("x", FLOAT, ["n"]), info("c", BOOL, [])],
                    [info("y", FLOAT, ["n"])])
    write("if_without_outputs", made, {"x": numbers(3), "c": np.array(True)}, expected=[[np.maximum(numbers(3), 0)]])
    # Outputs that are inputs, one value twice, initialisers and what a branch passes on.
    passes = helper.make_graph([], "passes", [], [info("x", FLOAT, [2])])
    negates = helper.make_graph([node("Neg", ["x"], ["n"])], "negates", [], [info("n", FLOAT, [2])])
    nodes = [node("Relu", ["x"], ["y"]), node("Identity", ["y"], ["z"]),
             node("If", ["c"], ["b"], then_branch=passes, else_branch=negates)]
    pair = info("x", FLOAT, [2])
    outputs = [info("y", FLOAT, [2]), info("z", FLOAT, [2]), info("b", FLOAT, [2]), pair, info("c", BOOL, []),
               info("k", FLOAT, [2])]
    made = model_of(nodes, [pair, info("c", BOOL, [])], outputs, [constant("k", numbers(2))])
    pair, whole = numbers(2), np.maximum(numbers(2), 0)
    write("inputs_as_outputs", made, *[{"x": pair, "c": np.array(c)} for c in (True, False)],
          expected=[[whole, whole, pair if c else -pair, pair, np.array(c), pair] for c in (True, False)])


def main():
    write_lists()
    write_computed_starts()
    write_squeeze()
    write_declared()
    write_convolutions()
    write_learned()
    write_scans()
    write_nbits()
    write_forms()


if __name__ == "__main__":
    main()
