# SPDX-License-Identifier: Apache-2.0
"""Exports a torch module as a model of the zoo."""
import torch

from .model import Model


def make(kind, name, build, inputs, opset=16, open_axes=None):
    """`build` returns the module; open_axes: {input's number: {axis: name}}, the dimensions that stay open."""
    def export(path):
        torch.manual_seed(0)
        module = build().eval()
        arguments = tuple(inputs())
        names = [f"x{i}" for i in range(len(arguments))]
        axes = {names[i]: of_input for i, of_input in (open_axes or {}).items()}
        with torch.no_grad():
            torch.onnx.export(module, arguments, str(path), opset_version=opset, input_names=names, dynamic_axes=axes)
        return [argument.numpy() for argument in arguments]
    return Model(kind, name, export, (build, inputs, open_axes))


def floats(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def tokens(*shape, most=50, seed=2):
    return torch.randint(0, most, shape, generator=torch.Generator().manual_seed(seed))


def both(kind, name, build, inputs, axes, opset=16):
    """The model with fixed sizes and with open ones."""
    yield make(kind, name, build, inputs, opset)
    yield make(kind, name + "_open", build, inputs, opset, axes)
