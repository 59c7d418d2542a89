# SPDX-License-Identifier: Apache-2.0
"""A model of the zoo: how it is exported, and its inputs."""


class Model:
    """`export(path)` writes the ONNX file and returns its inputs, numpy arrays in the order of the model's inputs.
    `source`: of a torch module, what makes it, what makes its inputs, and its open axes, for another exporter."""

    def __init__(self, kind, name, export, source=None):
        self.kind, self.name, self.export, self.source = kind, name, export, source
