# SPDX-License-Identifier: Apache-2.0
"""The forms of quantisation, each by ONNX Runtime's quantiser as PyPI has it."""
import logging
import warnings

import numpy
import onnx
from onnx import numpy_helper
from onnxruntime import quantization
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType

CALIBRATIONS = 3
ELEMENTS = {"u8": QuantType.QUInt8, "i8": QuantType.QInt8, "u16": QuantType.QUInt16, "i16": QuantType.QInt16}


class Reader(CalibrationDataReader):
    def __init__(self, inputs, seed=7):
        random = numpy.random.default_rng(seed)
        self.rest = iter([inputs(random, 4, 1.0) for _ in range(CALIBRATIONS)])

    def get_next(self):
        return next(self.rest, None)


class Form:
    """`quantise(net, inputs, path)` writes the model. `opset` is that of the float model."""

    def __init__(self, name, quantise, opset=17):
        self.name, self.opset, self.quantise = name, opset, quantise


def quietly(function):
    """The quantiser reports its progress by the root logger and by warnings."""
    def quiet(*arguments):
        logging.disable(logging.WARNING)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                function(*arguments)
        finally:
            logging.disable(logging.NOTSET)
    return quiet


def static(format, activations, weights, per_channel=False, after=None, calibrate=None, **extra):
    @quietly
    def quantise(net, inputs, path):
        quantization.quantize_static(net.model(), str(path), Reader(inputs), quant_format=format,
                                     per_channel=per_channel, activation_type=ELEMENTS[activations],
                                     weight_type=ELEMENTS[weights], extra_options=extra)
        if after is not None:
            onnx.save(after(onnx.load(str(path))), str(path))
    return quantise


def dynamic(weights, per_channel=False, **extra):
    @quietly
    def quantise(net, inputs, path):
        del inputs
        quantization.quantize_dynamic(net.model(), str(path), per_channel=per_channel, weight_type=ELEMENTS[weights],
                                      extra_options=extra)
    return quantise


def blocks(bits, size, symmetric, format, tables=False):
    @quietly
    def quantise(net, inputs, path):
        from onnxruntime.quantization import matmul_nbits_quantizer as quantizer
        del inputs
        kinds, axes = ("MatMul", "Gather") if tables else ("MatMul",), (("MatMul", 0), ("Gather", 1))
        config = quantizer.DefaultWeightOnlyQuantConfig(block_size=size, is_symmetric=symmetric, quant_format=format,
                                                        op_types_to_quantize=kinds, quant_axes=axes, bits=bits)
        work = quantizer.MatMulNBitsQuantizer(net.model(), algo_config=config)
        work.process()
        work.model.save_model_to_file(str(path))
    return quantise


def without_zero_points(model):
    """Zero points of 0 are left out: then DequantizeLinear takes 0, and QuantizeLinear gets its type by `output_dtype`."""
    zeros = {tensor.name: tensor for tensor in model.graph.initializer if not numpy_helper.to_array(tensor).any()}
    for node in model.graph.node:
        if node.op_type not in ("QuantizeLinear", "DequantizeLinear") or len(node.input) < 3:
            continue
        if node.input[2] not in zeros:
            continue
        if node.op_type == "QuantizeLinear":
            node.attribute.append(onnx.helper.make_attribute("output_dtype", zeros[node.input[2]].data_type))
        del node.input[2]
    return without_unused(model)


def without_unused(model):
    used = {name for node in model.graph.node for name in node.input}
    kept = [tensor for tensor in model.graph.initializer if tensor.name in used]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    return model


QDQ, QOPERATOR = QuantFormat.QDQ, QuantFormat.QOperator
SYMMETRIC = {"ActivationSymmetric": True, "WeightSymmetric": True}
FORMS = {form.name: form for form in (
    Form("qdq_u8i8", static(QDQ, "u8", "i8")),
    Form("qdq_u8i8_channel", static(QDQ, "u8", "i8", per_channel=True)),
    Form("qdq_u8u8", static(QDQ, "u8", "u8")),
    Form("qdq_i8i8", static(QDQ, "i8", "i8")),
    Form("qdq_i8i8_channel", static(QDQ, "i8", "i8", per_channel=True)),
    Form("qdq_i8i8_symmetric", static(QDQ, "i8", "i8", **SYMMETRIC)),
    Form("qdq_i8i8_symmetric_channel", static(QDQ, "i8", "i8", per_channel=True, **SYMMETRIC)),
    Form("qdq_no_zero_points", static(QDQ, "i8", "i8", per_channel=True, after=without_zero_points, **SYMMETRIC), 21),
    Form("qdq_u8i8_asymmetric_weights", static(QDQ, "u8", "i8", WeightSymmetric=False)),
    Form("qdq_float_bias", static(QDQ, "u8", "i8", per_channel=True, QuantizeBias=False)),
    Form("qdq_dedicated_pairs", static(QDQ, "u8", "i8", DedicatedQDQPair=True, QDQKeepRemovableActivations=True)),
    Form("qdq_float_weights_pairs", static(QDQ, "u8", "i8", AddQDQPairToWeight=True)),
    Form("qdq_contrib", static(QDQ, "u8", "i8", UseQDQContribOps=True)),
    Form("qdq_i16i8", static(QDQ, "i16", "i8", per_channel=True, **SYMMETRIC), 21),
    Form("qdq_u16i8", static(QDQ, "u16", "i8"), 21),
    Form("qdq_u16u8_contrib", static(QDQ, "u16", "u8")),
    Form("qoperator_u8i8", static(QOPERATOR, "u8", "i8")),
    Form("qoperator_u8i8_channel", static(QOPERATOR, "u8", "i8", per_channel=True)),
    Form("qoperator_u8u8", static(QOPERATOR, "u8", "u8")),
    Form("qoperator_i8i8", static(QOPERATOR, "i8", "i8")),
    Form("qoperator_i8i8_symmetric", static(QOPERATOR, "i8", "i8", **SYMMETRIC)),
    Form("dynamic_i8", dynamic("i8")),
    Form("dynamic_u8", dynamic("u8")),
    Form("dynamic_i8_channel", dynamic("i8", per_channel=True)),
    Form("dynamic_subgraphs", dynamic("u8", EnableSubgraph=True, MatMulConstBOnly=False)),
    Form("int4_blocks", blocks(4, 32, True, QDQ), 21),
    Form("int4_blocks_zero_points", blocks(4, 16, False, QDQ), 21),
    Form("int4_nbits", blocks(4, 32, True, QOPERATOR), 21),
    Form("int4_nbits_zero_points", blocks(4, 16, False, QOPERATOR), 21),
    Form("int4_tables", blocks(4, 16, False, QOPERATOR, tables=True), 21),
    Form("int8_nbits", blocks(8, 32, False, QOPERATOR), 21),
)}
