# SPDX-License-Identifier: Apache-2.0
"""Classifiers and segmenters of torchvision, with random weights and small images."""
from torchvision import models as zoo

from .torch_export import both, floats, make

# Model and side of its image; the smallest of each family.
CLASSIFIERS = {"alexnet": 224, "convnext_tiny": 64, "densenet121": 64, "efficientnet_b0": 64, "efficientnet_v2_s": 64,
               "googlenet": 64, "inception_v3": 96, "maxvit_t": 224, "mnasnet0_5": 64, "mnasnet1_0": 64,
               "mobilenet_v2": 64,
               "mobilenet_v3_large": 64, "mobilenet_v3_small": 64, "regnet_x_400mf": 64, "regnet_y_400mf": 64,
               "resnet18": 64,
               "resnet50": 64, "resnext50_32x4d": 64, "shufflenet_v2_x0_5": 64, "shufflenet_v2_x1_0": 64,
               "squeezenet1_0": 64,
               "squeezenet1_1": 64, "swin_t": 64, "swin_v2_t": 64, "wide_resnet50_2": 64}
FIXED_ONLY = {"maxvit_t"}  # its windows are a number of its own size
SEGMENTERS = {"deeplabv3_mobilenet_v3_large": 64, "deeplabv3_resnet50": 64, "fcn_resnet50": 64,
"lraspp_mobilenet_v3_large": 64}
CLIPS = {"r3d_18": (8, 48), "mc3_18": (8, 48), "r2plus1d_18": (8, 48), "s3d": (16, 64)}


def maker(name, **words):
    extra = {"aux_logits": False, "init_weights": False} if name in ("googlenet", "inception_v3") else {}
    return lambda: zoo.get_model(name, weights=None, **extra, **words)


def models():
    for name, side in CLASSIFIERS.items():
        def inputs(side=side):
            return [floats(2, 3, side, side)]
        if name in FIXED_ONLY:
            yield make("vision", name, maker(name), inputs)
        else:
            yield from both("vision", name, maker(name), inputs, {0: {0: "batch"}})
    yield make("vision", "vit_b_32", maker("vit_b_32", image_size=64, num_classes=10), lambda: [floats(1, 3, 64, 64)])
    for name, side in SEGMENTERS.items():
        def image(side=side):
            return [floats(1, 3, side, side)]
        yield from both("vision", name, maker(name, weights_backbone=None), image, {0: {0: "batch", 2: "height",
            3: "width"}})
    for name, (frames, side) in CLIPS.items():
        yield make("vision", name, maker(name), lambda frames=frames, side=side: [floats(1, 3, frames, side, side)])
