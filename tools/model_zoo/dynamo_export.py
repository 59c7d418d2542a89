# SPDX-License-Identifier: Apache-2.0
"""Exports a torch module by torch's newer exporter, which captures a graph (dynamo) and writes it with onnxscript."""
import inspect

import onnx
import torch

from .model import Model
from .torch_export import floats, tokens  # noqa: F401: what models are given


def make(kind, name, build, inputs, opset=18, open_axes=None):
    """`build` returns the module; open_axes: {input's number: {axis: name}}, the dimensions that stay open."""
    def export(path):
        torch.manual_seed(0)
        module = build().eval()
        arguments = tuple(inputs())
        shapes = None
        if open_axes:
            dims = {axis: torch.export.Dim.DYNAMIC for of_input in open_axes.values() for axis in of_input.values()}
            shapes = [{axis: dims[name] for axis, name in open_axes.get(i, {}).items()} or None
                      for i in range(len(arguments))]
            shapes = as_arguments(module, shapes)
        with torch.no_grad():
            program = torch.onnx.export(module, arguments, dynamo=True, opset_version=opset, dynamic_shapes=shapes,
                                        verbose=False)
        model = program.model_proto
        forget_origins(model.graph)
        onnx.save(model, str(path))
        return [argument.numpy() for argument in arguments]
    return Model(kind, name, export)


def forget_origins(graph):
    """The exporter writes where in the Python code each node came from, which takes more room than small weights."""
    for part in (*graph.node, *graph.value_info, *graph.input, *graph.output, *graph.initializer):
        del part.metadata_props[:]
    del graph.metadata_props[:]


def as_arguments(module, shapes):
    """One entry for each argument; those of `*values` together are one."""
    code = module.forward.__code__
    if not code.co_flags & inspect.CO_VARARGS:
        return tuple(shapes)
    own = code.co_argcount - 1
    return (*shapes[:own], tuple(shapes[own:]))


def both(kind, name, build, inputs, axes, opset=18):
    """The model with fixed sizes and with open ones."""
    yield make(kind, name, build, inputs, opset)
    yield make(kind, name + "_open", build, inputs, opset, axes)
