#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the cases in this folder: models of ai.onnx.ml, their inputs, and the outputs that ONNX Runtime computes.

usage: make_cases.py [NAME...]    (needs the packages onnx, onnxruntime and numpy)

Each case is a model of many nodes, one for each variant, so that there are few files.
"""
import pathlib
import sys

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

DOMAIN = "ai.onnx.ml"
TYPES = {
    np.dtype("f4"): TensorProto.FLOAT,
    np.dtype("f8"): TensorProto.DOUBLE,
    np.dtype("i8"): TensorProto.INT64,
    np.dtype("i4"): TensorProto.INT32,
    np.dtype("i2"): TensorProto.INT16,
    np.dtype("u1"): TensorProto.UINT8,
}
NAN = float("nan")


def type_of(array):
    return TensorProto.STRING if array.dtype == object else TYPES[array.dtype]


class Case:
    def __init__(self, name, version, **inputs):
        self.name, self.version, self.inputs = name, version, inputs
        self.nodes, self.outputs, self.constants, self.maps = [], [], [], {}

    def node(self, operator, operands, *types, domain=DOMAIN, **attributes):
        names = [f"y{len(self.outputs) + i}" for i in range(len(types))]
        self.nodes.append(helper.make_node(operator, [o.strip("_") for o in operands.split()], names, domain=domain, **attributes))
        self.outputs += [helper.make_tensor_value_info(n, t, None) for n, t in zip(names, types)]

    def constant(self, array):
        self.constants.append(numpy_helper.from_array(array, f"c{len(self.constants)}"))
        return self.constants[-1].name

    def write(self):
        infos = [helper.make_tensor_value_info(n, type_of(a), list(a.shape)) for n, a in self.inputs.items()]
        for name, (_, key, value, _) in self.maps.items():
            of = helper.make_map_type_proto(key, helper.make_tensor_type_proto(value, []))
            infos.append(helper.make_value_info(name, of))
        graph = helper.make_graph(self.nodes, self.name, infos, self.outputs, self.constants)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, self.version), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="byoc").SerializeToString()
        session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
        results = session.run(None, {**self.inputs, **{name: given[0] for name, given in self.maps.items()}})
        for name, (given, key, value, _) in self.maps.items():
            for part, kind, items in (("keys", key, given.keys()), ("values", value, given.values())):
                kind = object if kind == TensorProto.STRING else helper.tensor_dtype_to_np_dtype(kind)
                self.inputs[f"{name}.{part}"] = np.array(list(items), kind)
        folder = pathlib.Path(__file__).parent / self.name / "test_data_set_0"
        folder.mkdir(parents=True, exist_ok=True)
        (folder.parent / "model.onnx").write_bytes(model)
        for i, (name, array) in enumerate(self.inputs.items()):
            (folder / f"input_{i}.pb").write_bytes(numpy_helper.from_array(array, name).SerializeToString())
        for i, (info, array) in enumerate(zip(self.outputs, results)):
            (folder / f"output_{i}.pb").write_bytes(numpy_helper.from_array(np.asarray(array), info.name).SerializeToString())


TEXTS = np.array([["a", "bb", "", "zz"], ["ü", "Ünï", "c", "a"]], dtype=object)
WHOLE = np.array([[1, 2, 3], [4, -7, 2**40]], "i8")
FLOATS = np.array([1, 2.5, NAN, -0.0, np.inf, 3], "f4")
# Keys that stand twice: in LabelEncoder the first one counts, in older operators the last.
SOME = ["c", "zz", "a", "Ünï", "a"]


def tensor(values, dtype):
    return numpy_helper.from_array(np.array(values, dtype))


def label_encoder_1():
    case = Case("label_encoder_1", 1, t=TEXTS, i=WHOLE)
    case.node("LabelEncoder", "t", TensorProto.INT64, classes_strings=["zz", "a", "ü", "a"])
    case.node("LabelEncoder", "i", TensorProto.STRING, classes_strings=["zz", "a", "ü", "a"], default_string="none")
    case.node("CategoryMapper", "t", TensorProto.INT64, cats_strings=["a", "zz", "c", "a"], cats_int64s=[5, 6, 7, 8])
    case.node("CategoryMapper", "i", TensorProto.STRING, cats_strings=["a", "zz", "c", "a"], cats_int64s=[1, 2, 3, 2])
    return case


def label_encoder():
    case = Case("label_encoder", 4, t=TEXTS, i=WHOLE, f=FLOATS, d=FLOATS.astype("f8"))
    keys = [2**40, 2, 2, -7]
    case.node("LabelEncoder", "t", TensorProto.INT64, keys_strings=SOME, values_int64s=[1, 2, 3, 4, 5], default_int64=-9)
    case.node("LabelEncoder", "t", TensorProto.FLOAT, keys_strings=SOME, values_floats=[1.0, 2, 3, 4, 5.5])
    case.node("LabelEncoder", "t", TensorProto.STRING, keys_strings=SOME, values_strings=["p", "q", "r", "s", "t"])
    case.node("LabelEncoder", "i", TensorProto.STRING, keys_int64s=keys, values_strings=["p", "q", "r", "ß"])
    case.node("LabelEncoder", "i", TensorProto.INT64, keys_int64s=keys, values_int64s=[2**62, 1, 2, 3])
    case.node("LabelEncoder", "i", TensorProto.FLOAT, keys_int64s=keys, values_floats=[0.5, 1, 2, 3], default_float=7.0)
    case.node("LabelEncoder", "f", TensorProto.INT64, keys_floats=[1.0, NAN, 3, 0, np.inf, NAN], values_int64s=[1, 2, 3, 4, 5, 6])
    case.node("LabelEncoder", "f", TensorProto.STRING, keys_floats=[1.0, 3, 0], values_strings=["a", "b", "c"])
    case.node("LabelEncoder", "f", TensorProto.FLOAT, keys_floats=[NAN], values_floats=[2.0])
    case.node("LabelEncoder", "d", TensorProto.DOUBLE, keys_tensor=tensor([1, 2.5, 9], "f8"),
              values_tensor=tensor([4, 5, 6], "f8"), default_tensor=tensor([-8], "f8"))
    case.node("LabelEncoder", "d", TensorProto.DOUBLE, keys_tensor=tensor([1, 2.5, 9], "f8"),
              values_tensor=tensor([4, 5, 6], "f8"))
    case.node("LabelEncoder", "t", TensorProto.INT16, keys_tensor=tensor(["a", "bb"], object),
              values_tensor=tensor([4, 5], "i2"), default_tensor=tensor([-8], "i2"))
    case.node("LabelEncoder", "i", TensorProto.INT64, keys_int64s=list(range(-99, 99, 3)), values_int64s=list(range(66)))
    return case


def one_hot_encoder():
    case = Case("one_hot_encoder", 1, t=TEXTS, i=WHOLE, f=np.array([1.5, 2, -0.5], "f4"))
    case.node("OneHotEncoder", "t", TensorProto.FLOAT, cats_strings=["a", "zz", "c"])
    case.node("OneHotEncoder", "i", TensorProto.FLOAT, cats_int64s=[4, 1, 2, 1])
    case.node("OneHotEncoder", "f", TensorProto.FLOAT, cats_int64s=[0, 1, 2], zeros=0)
    return case


KERNELS = ["LINEAR", "POLY", "RBF", "SIGMOID"]
TRANSFORMS = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"]


def machine(random, classes, features=4, vectors=3):
    """A classifier's numbers, chosen at random."""
    pairs = classes * (classes - 1) // 2
    return {
        "kernel_params": [0.3, 0.5, 2.0],
        "vectors_per_class": [vectors] * classes,
        "support_vectors": random.standard_normal(vectors * classes * features).tolist(),
        "coefficients": random.standard_normal(vectors * classes * (classes - 1)).tolist(),
        "rho": random.standard_normal(pairs).tolist(),
        "classlabels_ints": [5 + 2 * i for i in range(classes)],
    }


def svm_classifier():
    random = np.random.default_rng(17)
    case = Case("svm_classifier", 1, x=random.standard_normal((6, 4)).astype("f4"), i=np.arange(-4, 4).reshape(2, 4))
    types = TensorProto.INT64, TensorProto.FLOAT
    for classes in 2, 4:
        for i, transform in enumerate(TRANSFORMS):
            numbers = machine(random, classes)
            kernel = {"kernel_type": KERNELS[i % 4], "post_transform": transform}
            if transform != "PROBIT":  # of what is no probability
                case.node("SVMClassifier", "x", *types, **numbers, **kernel)
            pairs = len(numbers["rho"])
            proba = {"prob_a": (-random.random(pairs) - 0.5).tolist(), "prob_b": random.standard_normal(pairs).tolist()}
            case.node("SVMClassifier", "x", *types, **numbers, **kernel, **proba)
    numbers = machine(random, 3)
    del numbers["classlabels_ints"]
    case.node("SVMClassifier", "i", TensorProto.STRING, TensorProto.FLOAT, **numbers, classlabels_strings=["ä", "b", "c"])
    for classes in 2, 3:  # without support vectors
        for least in -1, 0:
            coefficients = np.maximum(random.standard_normal(classes * 4), least).tolist()
            case.node("SVMClassifier", "x", *types, coefficients=coefficients, rho=[0.125], kernel_params=[0.0] * 3,
                      classlabels_ints=[3, 1, 2][:classes])
    return case


def svm_regressor():
    random = np.random.default_rng(18)
    case = Case("svm_regressor", 1, x=random.standard_normal((6, 4)).astype("f4"))
    for kernel in KERNELS:
        for one_class in 0, 1:
            case.node("SVMRegressor", "x", TensorProto.FLOAT, kernel_type=kernel, kernel_params=[0.3, 0.5, 3.0], n_supports=5,
                      support_vectors=random.standard_normal(20).tolist(), one_class=one_class,
                      coefficients=random.standard_normal(5).tolist(), rho=[0.25])
    case.node("SVMRegressor", "x", TensorProto.FLOAT, coefficients=[1.0, -2, 0.5, 0], rho=[0.25], kernel_params=[0.0] * 3)
    return case


def forest(random, trees, most_depth, features, targets, mode="BRANCH_LEQ"):
    """Trees of random shapes as lists of attributes; a leaf has a vote for one target or for several."""
    nodes = {key: [] for key in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids",
                                 "missing_value_tracks_true")}
    votes = {key: [] for key in ("treeids", "nodeids", "ids", "weights")}

    rare = 0.15 if most_depth < 6 else 0.42  # deep trees are thin

    def grow(tree, depth):
        me, number = len(nodes["modes"]), nodes["treeids"].count(tree)
        is_leaf = depth == 0 or (depth < most_depth and random.random() < rare)
        row = {"treeids": tree, "nodeids": number, "featureids": int(random.integers(features)), "truenodeids": 0,
               "falsenodeids": 0, "values": round(float(random.standard_normal()), 2),
               "modes": "LEAF" if is_leaf else mode, "missing_value_tracks_true": int(random.random() < 0.5)}
        for key, value in row.items():
            nodes[key].append(value)
        if is_leaf:
            for target in sorted(random.choice(targets, size=random.integers(1, targets + 1), replace=False)):
                for key, value in zip(votes, (tree, number, int(target), float(random.standard_normal()))):
                    votes[key].append(value)
        else:
            nodes["truenodeids"][me] = grow(tree, depth - 1)
            nodes["falsenodeids"][me] = grow(tree, depth - 1)
        return number

    for tree in range(trees):
        grow(tree, most_depth)
    return {f"nodes_{key}": value for key, value in nodes.items()}, votes


def trees():
    """More rows than a block has, more trees than are walked at once, deep and flat ones, NaN."""
    random = np.random.default_rng(19)
    x = random.standard_normal((70, 5)).astype("f4")
    x[::7, 2] = NAN
    case = Case("trees", 3, x=x, one=x[:1], d=x.astype("f8"))
    for operand, count, depth, targets in ("x", 19, 4, 1), ("x", 11, 12, 1), ("x", 9, 12, 3), ("one", 17, 5, 2), ("d", 8, 4, 2):
        for aggregate in "SUM", "MIN":
            nodes, votes = forest(random, count, depth, 5, targets)
            votes = {f"target_{key}": value for key, value in votes.items()}
            case.node("TreeEnsembleRegressor", operand, TensorProto.FLOAT, n_targets=targets, aggregate_function=aggregate,
                      **nodes, **votes)
    nodes, votes = forest(random, 12, 10, 5, 3)
    votes = {f"class_{key}": value for key, value in votes.items()}
    case.node("TreeEnsembleClassifier", "x", TensorProto.STRING, TensorProto.FLOAT, classlabels_strings=["a", "b", "c"],
              post_transform="SOFTMAX", **nodes, **votes)
    return case


def ensemble(random, trees, most_depth, features, targets, dtype):
    """TreeEnsemble's lists: nodes and leaves apart."""
    nodes = {key: [] for key in ("featureids", "splits", "modes", "truenodeids", "trueleafs", "falsenodeids", "falseleafs",
                                 "missing_value_tracks_true")}
    targetids, roots = [], []

    def side(me, name, depth):
        is_leaf = depth == 0 or random.random() < 0.2
        nodes[f"{name}leafs"][me] = int(is_leaf)
        if is_leaf:
            targetids.append(int(random.integers(targets)))
        nodes[f"{name}nodeids"][me] = len(targetids) - 1 if is_leaf else grow(depth - 1)

    def grow(depth):
        me = len(nodes["modes"])
        row = {"featureids": int(random.integers(features)), "splits": round(float(random.standard_normal()), 2),
               "modes": int(random.integers(6)), "missing_value_tracks_true": int(random.random() < 0.5)}
        for key in nodes:
            nodes[key].append(row.get(key, 0))
        side(me, "true", depth)
        side(me, "false", depth)
        return me

    for _ in range(trees):
        roots.append(grow(most_depth))
    splits, modes = tensor(nodes.pop("splits"), dtype), tensor(nodes.pop("modes"), "u1")
    return {f"nodes_{key}": value for key, value in nodes.items()} | {
        "nodes_splits": splits, "nodes_modes": modes, "tree_roots": roots, "leaf_targetids": targetids,
        "leaf_weights": tensor(random.standard_normal(len(targetids)), dtype), "n_targets": targets}


def tree_ensemble():
    random = np.random.default_rng(20)
    x = np.round(random.standard_normal((40, 5)), 1).astype("f4")
    x[::7, 2] = NAN
    case = Case("tree_ensemble", 5, x=x, d=x.astype("f8"))
    for operand, kind, dtype in ("x", TensorProto.FLOAT, "f4"), ("d", TensorProto.DOUBLE, "f8"):
        # Not SOFTMAX and LOGISTIC: ONNX Runtime takes their numbers, 1 and 2, for each other.
        for aggregate, transform in enumerate([0, 3, 3, 0]):
            case.node("TreeEnsemble", operand, kind, aggregate_function=aggregate, post_transform=transform,
                      **ensemble(random, 9, 4, 5, 1 + aggregate % 3, dtype))
    return case


def tree_members():
    """Nodes that ask whether a number is in a set, of one to eight members."""
    random = np.random.default_rng(21)
    x = random.integers(-4, 9, (60, 3)).astype("f4")
    x[::9, 1] = NAN
    wide = x.astype("f8")
    wide[5, 0] = 2.5  # ONNX Runtime 1.32 takes it for 2 where features are of f32
    case = Case("tree_members", 5, x=x, d=wide)
    for operand, kind, dtype in ("x", TensorProto.FLOAT, "f4"), ("d", TensorProto.DOUBLE, "f8"):
        lists = ensemble(random, 6, 3, 3, 2, dtype)
        modes = numpy_helper.to_array(lists["nodes_modes"]).copy()
        modes[::2] = 6
        members = []
        for place in range(int((modes == 6).sum())):
            members += [float(v) for v in random.permutation(np.arange(-4, 9))[: [1, 2, 3, 5, 8][place % 5]]] + [NAN]
        lists["nodes_modes"], lists["membership_values"] = tensor(modes, "u1"), tensor(members, dtype)
        case.node("TreeEnsemble", operand, kind, aggregate_function=1, post_transform=0, **lists)
    return case


def tokenizer():
    """What skl2onnx writes in front of TfIdfVectorizer."""
    texts = np.array(["Hello World", "a bb ccc, naïve é", "", "x_1 y-2  _ab9_"], dtype=object)
    case = Case("tokenizer", 3, t=texts, m=texts.reshape(2, 2), e=np.array(["", " "], dtype=object))
    ways = [{"tokenexp": "[a-zA-Z0-9_]+"}, {"tokenexp": "[a-z]+", "mincharnum": 3}, {"tokenexp": "."},
            {"tokenexp": r"\b\w\w+\b", "mark": 1}, {"tokenexp": "[a-b]*"}, {"tokenexp": "a?b?|[a-c]+"}, {"separators": [" "]},
            {"separators": [" ", ",", "-"], "mincharnum": 2}, {"separators": [""], "mark": 1}, {"separators": ["[ ,]+"]}]
    for i, way in enumerate(ways):
        for operand in "tm" if i < 2 else "t":
            case.node("Tokenizer", operand, TensorProto.STRING, domain="com.microsoft",
                      **{"mark": 0, "mincharnum": 1, "pad_value": "#", **way})
    case.node("Tokenizer", "e", TensorProto.STRING, domain="com.microsoft", mark=1, mincharnum=1, pad_value="",
              tokenexp="[a-z]+")
    return case


def sizes_made():
    """Operators of com.microsoft whose results have sizes that only the run knows."""
    floats = [TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT64]
    case = Case("sizes_made", 3, x=np.array([2, 1, 1, 3, 4, 3, -0.5], "f4"), a=np.array(-2, "i8"), b=np.array([3], "i8"),
                c=np.array([2], "i8"), m=np.arange(6, dtype="f4").reshape(2, 3), p=np.array([[0, 1, 2, -1]], "i8"),
                i=np.arange(12, dtype="f4").reshape(1, 1, 3, 4), w=np.ones((1, 1, 3, 3), "f4"), d=np.array([1, 0, 2, 1], "i8"))
    case.node("Unique", "x", *floats, domain="com.microsoft")
    case.node("Range", "a b", TensorProto.INT64, domain="com.microsoft")
    case.node("Range", "a b c", TensorProto.INT64, domain="com.microsoft")
    case.node("Pad", "m p", TensorProto.FLOAT, domain="com.microsoft")
    case.node("ConvTransposeWithDynamicPads", "i w d", TensorProto.FLOAT, domain="com.microsoft")
    return case


def unique_texts():
    """Unique of texts: all of them, and rows and columns of texts."""
    of = [TensorProto.STRING, TensorProto.INT64, TensorProto.INT64, TensorProto.INT64]
    case = Case("unique_texts", 3, x=np.array(["b", "", "a", "\u00fc", "b", "", "ab"], object),
                m=np.array([["b", "a", "b"], ["a", "b", "a"], ["b", "a", "b"]], object), n=np.zeros((0,), object))
    for way in ({}, {"sorted": 0}):
        case.node("Unique", "x", *of, domain="", **way)
        case.node("Unique", "m", *of, domain="", **way)
        case.node("Unique", "m", *of, domain="", axis=0, **way)
        case.node("Unique", "m", *of, domain="", axis=-1, **way)
    case.node("Unique", "n", *of, domain="")
    return case


def experts():
    """Mixtures of experts whose weights are packed; "_" stands for an operand that is left out. ONNX Runtime's CPU provider
    normalises the router's weights whatever normalize_routing_weights says."""
    random = np.random.default_rng(9)
    numbers = lambda *shape: random.uniform(-1, 1, shape).astype("f4")
    case = Case("experts", 3, x=numbers(5, 32), p=numbers(5, 3), b=numbers(3, 64), d=numbers(3, 32))
    for bits, block, has_zeros in ((4, 16, True), (4, 0, False), (8, 0, True), (2, 32, False), (2, 16, True)):
        layers, zeros = [], []
        for rows, bias in ((64, "b"), (32, "d")):
            blocks = 32 // block if block else 0
            of = lambda *shape: case.constant(random.integers(0, 256, shape).astype("u1"))
            scales = case.constant((random.uniform(0.1, 1, [3, rows] + [blocks] * (block > 0)) / 2**bits).astype("f4"))
            layers += [of(3, rows, 4 * bits), scales, bias]
            if has_zeros:
                zeros.append(of(3, rows, -(-blocks * bits // 8)) if block else of(3, rows * bits // 8))
        settings = {"block_size": block} if block else {}
        case.node("QMoE", " ".join(["x", "p"] + layers + (["_"] * 3 if zeros else []) + zeros), TensorProto.FLOAT, k=2,
                  domain="com.microsoft", normalize_routing_weights=1, activation_type="swiglu", swiglu_fusion=1,
                  expert_weight_bits=bits, **settings)
    return case


def maps():
    """Maps as inputs, which are two vectors in byoc: keys and values."""
    made = {"t": ({"b": 2.5, "no": 9.0, "a": -1.0}, TensorProto.STRING, TensorProto.FLOAT, {"string_vocabulary": ["a", "c", "b"]}),
            "i": ({7: 2, 2**40: -3}, TensorProto.INT64, TensorProto.FLOAT, {"int64_vocabulary": [2**40, 1, 7, 2]}),
            "f": ({5: 2.0, 1: -1.0, 3: 4.0}, TensorProto.INT64, TensorProto.FLOAT, None)}
    case, ways = Case("maps", 1), [{}, {"map_form": "SPARSE", "max_map": 6}]
    for name, (_, _, kind, vocabulary) in made.items():
        if vocabulary:
            case.node("DictVectorizer", name, kind, **vocabulary)
            continue
        for way in ways:
            case.node("CastMap", name, TensorProto.FLOAT, cast_to="TO_FLOAT", **way)
            case.node("CastMap", name, TensorProto.INT64, cast_to="TO_INT64", **way)
            case.node("CastMap", name, TensorProto.STRING, cast_to="TO_STRING", **way)
    case.maps = made
    return case


CASES = [label_encoder_1, label_encoder, one_hot_encoder, svm_classifier, svm_regressor, trees, tree_ensemble, tree_members, tokenizer,
         sizes_made, unique_texts, experts, maps]

if __name__ == "__main__":
    for make in CASES:
        if len(sys.argv) == 1 or make.__name__ in sys.argv[1:]:
            make().write()
