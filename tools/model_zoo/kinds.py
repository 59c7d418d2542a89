# SPDX-License-Identifier: Apache-2.0
"""The kinds of models, and the modules that export them."""
import importlib

MODULES = {"linear": "scikit", "trees": "scikit", "svm": "scikit", "pipelines": "scikit", "texts": "scikit",
           "boosted": "boosted",
           "layers": "layers", "scripted": "scripted", "transformers": "transformers", "vision": "vision",
           "detection": "detection", "dynamo_layers": "dynamo",
           "dynamo_transformers": "dynamo", "dynamo_vision": "dynamo", "dynamo_detection": "dynamo",
           "huggingface": "huggingface"}


def collect(wanted):
    """Yields the models of these kinds; says which packages are missing."""
    for name in dict.fromkeys(MODULES[kind] for kind in wanted):
        try:
            module = importlib.import_module(f"model_zoo.{name}")
        except ImportError as missing:
            left_out = ", ".join(kind for kind in wanted if MODULES[kind] == name)
            print(f"left out: {left_out}: this Python has no {missing.name}", flush=True)
            continue
        yield from (model for model in module.models() if model.kind in wanted)
