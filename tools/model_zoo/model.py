"""A model of the zoo: how it is exported, and its inputs."""


class Model:
    """`export(path)` writes the ONNX file and returns its inputs, numpy arrays in the order of the model's inputs."""

    def __init__(self, kind, name, export):
        self.kind, self.name, self.export = kind, name, export
