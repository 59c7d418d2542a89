# SPDX-License-Identifier: Apache-2.0
"""Which architectures the zoo quantises in which forms."""
from . import exported, images, sequences
from .forms import FORMS

STATIC = ["qdq_u8i8", "qdq_i8i8_symmetric_channel", "qoperator_u8i8"]
BLOCKS = ["int4_blocks", "int4_blocks_zero_points", "int4_nbits", "int4_nbits_zero_points", "int8_nbits"]
DYNAMIC = ["dynamic_i8", "dynamic_u8"]
EVERY_STATIC = [name for name in FORMS if name.startswith(("qdq", "qoperator"))]


class Architecture:
    def __init__(self, build, inputs, forms, **words):
        self.build, self.inputs, self.forms, self.words = build, inputs, forms, words


class Model:
    """A network in a form. `write` puts it into a file."""

    def __init__(self, architecture, form):
        self.architecture, self.form = architecture, form
        self.network = architecture.build(**architecture.words).name
        self.name = f"{self.network}-{form.name}"
        self.inputs = architecture.inputs

    def write(self, path):
        net = self.architecture.build(opset=self.form.opset, **self.architecture.words)
        self.form.quantise(net, self.inputs, path)


ARCHITECTURES = (
    Architecture(images.resnet, images.image, [*EVERY_STATIC, "dynamic_u8"]),
    Architecture(images.resnet_batch_norm, images.image, ["qdq_u8i8", "qdq_i8i8_channel", "qoperator_u8i8"]),
    Architecture(images.mobilenet_v2, images.image,
                 [*STATIC, "qdq_u8i8_channel", "qdq_i8i8", "qdq_float_bias", "qdq_no_zero_points", "qdq_i16i8",
                  "qoperator_u8i8_channel"]),
    Architecture(images.mobilenet_v3, images.image, [*STATIC, "qdq_i8i8_channel", "qdq_u16i8"]),
    Architecture(images.mobilenet_v3, images.image, STATIC, written_out=True),
    Architecture(images.efficientnet_lite, images.image, [*STATIC, "qdq_u8u8", "qdq_dedicated_pairs"]),
    Architecture(images.efficientnet, images.image, [*STATIC, "qdq_i8i8"]),
    Architecture(images.squeezenet, images.image, [*STATIC, "qdq_i8i8_symmetric", "qoperator_i8i8"]),
    Architecture(images.unet, images.image, [*STATIC, "qdq_u8i8_channel", "qdq_float_bias", "qdq_i16i8"]),
    Architecture(images.detector, images.image, [*STATIC, "qdq_i8i8", "qoperator_i8i8", "qdq_contrib"]),
    Architecture(images.shufflenet, images.image, [*STATIC, "qdq_i8i8", "qdq_no_zero_points"]),
    Architecture(images.series, images.series_input, [*STATIC, "qdq_i8i8_channel"]),
    Architecture(images.volume, images.volume_input, ["qdq_u8i8", "qdq_i8i8_channel"]),
    Architecture(sequences.mlp, sequences.rows_input, [*EVERY_STATIC, *DYNAMIC, "dynamic_i8_channel", *BLOCKS]),
    Architecture(sequences.encoder, sequences.text_input,
                 [*STATIC, *DYNAMIC, "qdq_u8i8_channel", "qdq_i8i8", "qdq_float_bias", "qdq_u16u8_contrib",
                  "dynamic_subgraphs", "int4_blocks", "int4_nbits_zero_points"]),
    Architecture(sequences.decoder, sequences.text_input, [*BLOCKS, "int4_tables", "qdq_u8i8", "qdq_i16i8", *DYNAMIC]),
    Architecture(sequences.lstm, sequences.steps_input, ["dynamic_i8", "dynamic_u8", "dynamic_i8_channel", "qdq_u8i8"]),
    Architecture(sequences.gru, sequences.steps_input, ["dynamic_i8", "qdq_u8i8", "qdq_i8i8_symmetric"]),
)


def collect(text=""):
    models = [Model(architecture, FORMS[name]) for architecture in ARCHITECTURES for name in architecture.forms]
    if exported.missing() is None:
        models += exported.MODELS
    return [model for model in models if text in model.name]
