# SPDX-License-Identifier: Apache-2.0
"""A model cut at each tensor of small integers: what writes such a tensor gives a result of the model, and what reads it
takes an input, for which the reference's tensor is given. So no error is carried from one operator to the next, and
each result may be one step off at most, and none where integers are moved only. A result is right if ONNX Runtime's run
without optimisations has it, or the one with them; only other ones count as one step off."""
import numpy
import onnx
from onnx import numpy_helper

from . import reference

SMALL = ("int8", "uint8", "int16", "uint16")
READ = "_read"
DIFFERING = {1: 0.05, 2: 0.25}  # share of the elements that may be one step off, by bytes; at least 3 elements


class Cut:
    """`model`, its `inputs` and the integers that are expected. `exact` has the results that no rounding changes."""

    def __init__(self, model, inputs):
        outputs = {value.name for value in model.graph.output}
        values = reference.run(with_outputs(model, inner(model) - outputs), reference.PLAIN, [inputs])[0]
        self.expected = {name: value for name, value in values.items() if value.dtype.name in SMALL}
        self.inputs = dict(inputs)
        self.model = with_outputs(model, self.expected.keys() - outputs)
        graph = self.model.graph
        read = {name for node in graph.node for name in node.input} & self.expected.keys()
        for node in graph.node:
            for i, name in enumerate(node.input):
                node.input[i] = name + READ if name in read else name
        for name in sorted(read):
            value = self.expected[name]
            kind = onnx.helper.np_dtype_to_tensor_dtype(value.dtype)
            graph.input.append(onnx.helper.make_tensor_value_info(name + READ, kind, value.shape))
            self.inputs[name + READ] = value
        for value in [value for value in graph.output if value.name not in self.expected]:
            graph.output.remove(value)
        self.exact = exact(model) & self.expected.keys()
        # Where a result lies in the middle between two integers, ONNX Runtime's own runs choose different ones.
        self.optimised = (reference.optimised(self.model, [self.inputs]) or [{}])[0]

    def judge(self, results):
        """Returns the tensors that are wrong, each with its fault, and how many elements of how many are one step off."""
        wrong, off, total = [], 0, 0
        for name, expected in self.expected.items():
            result = results.get(name)
            if result is None or result.shape != expected.shape or result.dtype != expected.dtype:
                wrong.append(f"{name}: no result of this type")
                continue
            gaps = numpy.abs(result.astype(numpy.int64) - expected.astype(numpy.int64))
            moved, worst = int((gaps != 0).sum()), int(gaps.max(initial=0))
            count = int(((gaps != 0) & (result != self.optimised.get(name, expected))).sum())
            off, total = off + count, total + gaps.size
            most = max(3, DIFFERING[expected.itemsize] * gaps.size)
            if worst > 1 or (moved and name in self.exact) or count > most:
                wrong.append(f"{name}: {moved} of {gaps.size} differ, by up to {worst} steps")
        return wrong, off, total

    def write_case(self, folder):
        """As a case of byoc conform."""
        data = folder / "test_data_set_0"
        data.mkdir(parents=True, exist_ok=True)
        onnx.save(self.model, str(folder / "model.onnx"))
        given = [self.inputs[value.name] for value in self.model.graph.input]
        expected = [self.expected[value.name] for value in self.model.graph.output]
        graph = self.model.graph
        for kind, values, entries in (("input", given, graph.input), ("output", expected, graph.output)):
            for i, (value, entry) in enumerate(zip(values, entries)):
                (data / f"{kind}_{i}.pb").write_bytes(numpy_helper.from_array(value, entry.name).SerializeToString())


def inner(model):
    return {name for node in model.graph.node for name in node.output if name}


def with_outputs(model, names):
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    order = [name for node in copy.graph.node for name in node.output if name in names]
    copy.graph.output.extend(onnx.ValueInfoProto(name=name) for name in order)
    return copy


def exact(model):
    """The tensors that are moved integers: by MaxPool and data movement, between scales that are equal."""
    producers = {name: node for node in model.graph.node for name in node.output}
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}

    def scales(node):
        return [constants[name].tolist() if name in constants else name for name in node.input[1:]]
    found = set()
    for node in model.graph.node:
        if node.op_type in reference.MOVES and node.op_type not in ("Concat", "Pad"):
            found.update(node.output)
        move = producers.get(node.input[0]) if node.op_type == "QuantizeLinear" else None
        if move is None or move.op_type not in reference.MOVES or move.op_type == "Pad":
            continue
        sources = [producers.get(name) for name in (move.input if move.op_type == "Concat" else move.input[:1])]
        if all(s is not None and s.op_type == "DequantizeLinear" and scales(s) == scales(node) for s in sources):
            found.update(node.output)
    return found
