# SPDX-License-Identifier: Apache-2.0
"""What rules see of a model: the graph after simplification. Which operators are left in floats in it, and why; and
whether it is the same for every processor."""
import collections
import re

from onnx import TensorProto, numpy_helper

from . import artifact
from .reference import MOVES

PROCESSORS = ("x86-64-v2", "x86-64-v3", "x86-64-v4", "native")
TRIPLE = "aarch64-linux-gnu"
FLOATS = ("f16", "bf16", "f32", "f64")
# They read or give floats as their integers demand it.
BORDERS = ("DequantizeLinear", "DynamicQuantizeLinear", "MatMulNBits", "PackedMatMul", "GatherBlockQuantized",
           "DynamicQuantizeLSTM", "DynamicQuantizeMatMul", "MatMulIntegerToFloat")
# Operators that have a form on integers between DequantizeLinear and QuantizeLinear.
WITH_UNITS = {*MOVES, "Conv", "ConvTranspose", "MatMul", "Gemm", "Add", "Mul", "AveragePool", "GlobalAveragePool",
              "Concat", "Sigmoid", "LeakyRelu", "Softmax", "ReduceMean", "Where", "Relu", "Clip"}
PRODUCTS = ("Conv", "ConvTranspose", "MatMul", "Gemm")
PASSED_ON = ("Relu", "Clip", *MOVES)
# Functions of one element, which `c` may look up in a table.
FUNCTIONS = {"Abs", "Celu", "Div", "Elu", "Erf", "Exp", "Gelu", "HardSigmoid", "HardSwish", "Log", "Mish", "Neg", "Pow",
             "PRelu", "Reciprocal", "Selu", "Softplus", "Softsign", "Sqrt", "Sub", "Tanh"}
UNEXPECTED = "has a form on integers"
NODE = re.compile(r'^\s*(?P<results>[%@].*?) = (?P<kind>[\w.:]+)@\d+(?: "(?P<name>[^"]*)" )?'
                  r'\((?P<operands>[^)]*)\)(?: \{.*\})? : (?P<types>.*)$')
VALUE = re.compile(r'[%@](?:"[^"]*"|[\w.\-/]+)')


class Node:
    def __init__(self, match):
        self.kind = match["kind"].split("::")[-1]
        self.name = match["name"]
        self.results = [plain(value) for value in VALUE.findall(match["results"])]
        self.operands = [plain(value) for value in VALUE.findall(match["operands"])]
        self.types = match["types"]

    def in_floats(self):
        """Computes tensors of floats; scalars are scales of dynamic quantisation."""
        tensors = re.findall(r"(\w+)\[([^\]]*)\]", self.types)
        return self.kind not in BORDERS and any(element in FLOATS and dims for element, dims in tensors)


def plain(value):
    return value[1:].strip('"')


def read(text):
    return [Node(match) for match in map(NODE.match, text.splitlines()) if match]


def origins(nodes, source):
    """Yields the source's node of each node in floats. One without a name belongs to the next one that has one."""
    by_name = {node.name: node for node in source.graph.node if node.name}
    by_value = {name: node for node in source.graph.node for name in node.output}
    readers = collections.defaultdict(list)
    for node in nodes:
        for operand in node.operands:
            readers[operand].append(node)

    def origin(node, depth=0):
        found = by_name.get(node.name) or next((by_value[name] for name in node.results if name in by_value), None)
        if found is not None or depth > 20:
            return found
        nexts = (origin(reader, depth + 1) for result in node.results for reader in readers[result])
        return next((found for found in nexts if found is not None), None)
    for node in nodes:
        if node.in_floats():
            yield node, origin(node)


class Reasons:
    """Why an operator of the model is left in floats."""

    def __init__(self, source):
        self.graph = source.graph
        self.producers = {name: node for node in self.graph.node for name in node.output}
        self.constants = {tensor.name: tensor for tensor in self.graph.initializer}
        self.readers = collections.defaultdict(list)
        for node in self.graph.node:
            for name in node.input:
                self.readers[name].append(node)

    def dequantised(self, name):
        """The DequantizeLinear behind a value, through data movement."""
        node = self.producers.get(name)
        while node is not None and node.op_type in PASSED_ON:
            node = self.producers.get(node.input[0])
        return node if node is not None and node.op_type == "DequantizeLinear" else None

    def quantised(self, name, depth=0):
        """Is every reader a QuantizeLinear, or one that hands the numbers on to it?"""
        readers = self.readers[name]
        return bool(readers) and depth < 8 and all(
            reader.op_type == "QuantizeLinear" or
            (reader.op_type in PASSED_ON and all(self.quantised(output, depth + 1) for output in reader.output))
            for reader in readers)

    def elements(self, pairs):
        """The element types of the zero points, or of the constants, of some DequantizeLinear nodes."""
        names = [name for pair in pairs for name in (pair.input[2:3] or pair.input[:1])]
        return {self.constants[name].data_type for name in names if name in self.constants}

    def are_numbers(self, names):
        """Do the constants among these have one element each?"""
        return all(numpy_helper.to_array(self.constants[name]).size == 1 for name in names if name in self.constants)

    def bias_is_finer(self, node, pairs):
        """Is the bias a constant of floats, whose rounding to steps of the products changes a result by more than 1/64
        of a step?"""
        if len(node.input) < 3 or node.input[2] not in self.constants or len(pairs) < 2:
            return False
        last = node.output[0]
        while self.readers[last] and self.readers[last][0].op_type != "QuantizeLinear":
            last = self.readers[last][0].output[0]
        names = [pairs[0].input[1], pairs[1].input[1], *(reader.input[1] for reader in self.readers[last][:1])]
        if len(names) < 3 or any(name not in self.constants for name in names):
            return False
        data, weights, result = (numpy_helper.to_array(self.constants[name]) for name in names)
        return bool((data * weights).max() / 2 > result.min() / 64)

    def reason(self, node):
        if node is None:
            return "not in the model"
        kind = node.op_type
        if kind.startswith("QLinear") or kind in ("QGemm", "QAttention", "ConvInteger", "MatMulInteger"):
            return UNEXPECTED
        inputs = [name for name in node.input if name and name not in self.constants]
        pairs = [self.dequantised(name) for name in inputs]
        if not inputs or any(pair is None for pair in pairs):
            return "the model: its operands are floats"
        if not all(self.quantised(name) for name in node.output):
            return "the model: its result is not quantised"
        if kind in PRODUCTS and any(name in self.constants for name in node.input[1:2]):
            return "the model: its weights are floats"
        if kind in PRODUCTS and self.bias_is_finer(node, pairs):
            return "the model: its bias of floats is finer than the products"
        has_words = bool(self.elements(pairs) & {TensorProto.INT16, TensorProto.UINT16})
        if kind in FUNCTIONS and len(inputs) == 1 and self.are_numbers(node.input) and not has_words:
            return "a function of one byte"
        if kind not in WITH_UNITS:
            return f"{kind} has no form on integers"
        if any(scale is not None and len(scale.dims) and scale.dims[0] > 1 and pair.input[0] not in self.constants
               for pair in pairs for scale in [self.constants.get(pair.input[1])]):
            return "a scale for each channel of data"
        return UNEXPECTED


def in_floats(text, source):
    """Returns the operators of the model that are left in floats: (kind, reason) -> their names."""
    reasons, found = Reasons(source), collections.defaultdict(dict)
    for node, origin in origins(read(text), source):
        kind = origin.op_type if origin is not None else node.kind
        name = origin.name if origin is not None else ", ".join(node.results)
        found[(kind, reasons.reason(origin))][name] = None
    return {key: list(names) for key, names in found.items()}


def graph(byoc, model, *words):
    return artifact.call("simplify", [byoc, "opt", model, "--passes=simplify", *words])


def after_simplify(byoc, model, *words):
    """As graph, but for another machine, which byoc opt does not know."""
    printed = artifact.call("simplify", [byoc, "build", model, "--emit=ir", "--print-after", "simplify", "-t", "c",
                                         "--plan", "greedy", *words])
    return printed.split("// after simplify")[1].split("\n// ")[0]


def differing(byoc, model):
    """Names the processors for which the graph is another one than for the first."""
    texts = {name: graph(byoc, model, "-t", f"c -mcpu={name}") for name in PROCESSORS}
    differ = [name for name in PROCESSORS if texts[name] != texts[PROCESSORS[0]]]
    if after_simplify(byoc, model) != after_simplify(byoc, model, "--triple", TRIPLE):
        differ.append(TRIPLE)
    return differ
