# SPDX-License-Identifier: Apache-2.0
"""The torch modules of other kinds, written by torch's newer exporter."""
from . import detection, layers, transformers, vision
from .dynamo_export import make


def models():
    for module in (layers, transformers, vision, detection):
        for model in module.models():
            build, inputs, open_axes = model.source
            yield make("dynamo_" + model.kind, model.name, build, inputs, open_axes=open_axes)
