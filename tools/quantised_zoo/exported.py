# SPDX-License-Identifier: Apache-2.0
"""Networks that PyTorch quantises (PT2E, of torchao) and exports to ONNX by itself. Needs torch, torchao, onnxscript."""
import importlib.util
import logging
import warnings

import numpy

from .net import BATCH

MODULES = ("torch", "torchao", "onnxscript")
CALIBRATIONS = 3


def missing():
    """The first module that this Python lacks, or None."""
    return next((name for name in MODULES if importlib.util.find_spec(name) is None), None)


def convolutions(torch):
    nn = torch.nn

    class Block(nn.Module):
        """An inverted residual."""

        def __init__(self, inputs, outputs, stride):
            super().__init__()
            wide, self.skips = 2 * inputs, (stride, inputs) == (1, outputs)
            self.inner = nn.Sequential(nn.Conv2d(inputs, wide, 1), nn.ReLU6(),
                                       nn.Conv2d(wide, wide, 3, stride, 1, groups=wide), nn.ReLU6(),
                                       nn.Conv2d(wide, outputs, 1))

        def forward(self, x):
            return x + self.inner(x) if self.skips else self.inner(x)

    class Convolutions(nn.Module):
        def __init__(self):
            super().__init__()
            self.begin = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.MaxPool2d(2))
            self.blocks = nn.Sequential(Block(8, 8, 1), Block(8, 12, 2), Block(12, 12, 1))
            self.classes = nn.Linear(12, 10)

        def forward(self, x):
            return self.classes(self.blocks(self.begin(x)).mean((2, 3)))
    return Convolutions()


def encoder(torch):
    nn, heads, width = torch.nn, 4, 32

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.projections, self.mix = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.widen, self.narrow = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
            self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)

        def forward(self, x):
            batch, length, _ = x.shape
            parts = self.projections(x).view(batch, length, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
            q, k, v = parts.unbind(0)
            weights = torch.softmax(q @ k.transpose(-1, -2) / (width // heads) ** 0.5, -1)
            x = self.first(x + self.mix((weights @ v).transpose(1, 2).reshape(batch, length, width)))
            return self.second(x + self.narrow(nn.functional.gelu(self.widen(x))))
    return Encoder()


def image(random, batch, amplitude):
    return {"x": (amplitude * random.normal(size=(batch, 3, 32, 32))).astype(numpy.float32)}


def rows(random, batch, amplitude):
    return {"x": (amplitude * random.normal(size=(batch, 7, 32))).astype(numpy.float32)}


def xnnpack(per_channel):
    def quantizer():
        from torchao.testing.pt2e import _xnnpack_quantizer as module
        configuration = module.get_symmetric_quantization_config(is_per_channel=per_channel)
        return module.XNNPACKQuantizer().set_global(configuration)
    return quantizer


def x86():
    from torchao.quantization.pt2e.quantizer import x86_inductor_quantizer as module
    return module.X86InductorQuantizer().set_global(module.get_default_x86_inductor_quantization_config())


class Exported:
    """A network as a quantiser of PT2E leaves it. `write` puts it into a file, as the models of zoo.py do."""

    def __init__(self, network, inputs, form, quantizer):
        self.network, self.inputs, self.quantizer = network, inputs, quantizer
        self.name = f"torch_{network.__name__}-{form}"

    def write(self, path):
        logging.disable(logging.WARNING)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.export(path)
        finally:
            logging.disable(logging.NOTSET)

    def export(self, path):
        import torch
        from torchao.quantization.pt2e import quantize_pt2e
        torch.manual_seed(7)
        torch.set_num_threads(1)
        network, random = self.network(torch).eval(), numpy.random.default_rng(7)
        samples = [torch.from_numpy(self.inputs(random, 4, 1.0)["x"]) for _ in range(CALIBRATIONS)]
        shapes = {"x": {0: torch.export.Dim(BATCH, max=64)}}
        observed = quantize_pt2e.prepare_pt2e(
            torch.export.export(network, (samples[0],), dynamic_shapes=shapes).module(), self.quantizer())
        for sample in samples:
            observed(sample)
        program = torch.onnx.export(quantize_pt2e.convert_pt2e(observed), (samples[0],), dynamo=True, verbose=False,
                                    opset_version=21, input_names=["x"], dynamic_shapes=shapes)
        program.save(str(path))


MODELS = (
    Exported(convolutions, image, "pt2e_i8i8", xnnpack(per_channel=False)),
    Exported(convolutions, image, "pt2e_i8i8_channel", xnnpack(per_channel=True)),
    Exported(encoder, rows, "pt2e_u8i8_channel", x86),
)
