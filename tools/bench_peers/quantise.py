# SPDX-License-Identifier: Apache-2.0
"""The quantised form of a model, made by ONNX Runtime's quantiser: static scales, u8 data and i8 weights with a scale
for each channel, as QuantizeLinear and DequantizeLinear around each operator. Its speed is of interest, not its
accuracy: random inputs calibrate it.
"""
import logging

SAMPLES = 4  # inputs that it is calibrated with
PER_CHANNEL_VERSION = 13  # of ai.onnx; before it, QuantizeLinear has one scale


class Samples:
    """What the quantiser reads inputs from."""

    def __init__(self, samples):
        self.left = iter(samples)

    def get_next(self):
        return next(self.left, None)


def quantise(path, out, samples):
    """Makes the file once. RuntimeError says why it cannot be."""
    if out.exists():
        return out
    try:
        import onnx
        from onnx import version_converter
        from onnxruntime import quantization
    except ImportError as error:
        raise RuntimeError(f"quantising needs Python's onnx and onnxruntime: {error}") from error
    model = onnx.load(str(path))
    if any(node.op_type in ("QuantizeLinear", "QLinearConv", "QLinearMatMul") for node in model.graph.node):
        raise RuntimeError("the model is quantised already; time it in f32, which takes a model as it is")
    logging.getLogger().setLevel(logging.ERROR)  # it advises to optimise the model first
    temporary = out.with_suffix(".tmp.onnx")
    try:
        version = next((item.version for item in model.opset_import if item.domain in ("", "ai.onnx")), 1)
        if version < PER_CHANNEL_VERSION:
            model = version_converter.convert_version(model, PER_CHANNEL_VERSION)
        quantization.quantize_static(model, str(temporary), Samples(samples), per_channel=True,
                                     quant_format=quantization.QuantFormat.QDQ,
                                     activation_type=quantization.QuantType.QUInt8,
                                     weight_type=quantization.QuantType.QInt8)
        temporary.replace(out)
    except Exception as error:  # whatever the quantiser throws goes to the table
        raise RuntimeError(f"the quantiser: {type(error).__name__}: {error}") from error
    return out
