"""Detectors of torchvision: proposals, boxes by data-dependent shapes, non-maximum suppression, masks, key points."""
from torch import nn
from torchvision import models as zoo

from .torch_export import floats, make

DETECTORS = ["fasterrcnn_mobilenet_v3_large_320_fpn", "fasterrcnn_resnet50_fpn", "fcos_resnet50_fpn",
             "keypointrcnn_resnet50_fpn", "maskrcnn_resnet50_fpn", "retinanet_resnet50_fpn", "ssd300_vgg16",
             "ssdlite320_mobilenet_v3_large"]


class OneImage(nn.Module):
    """A detector for one image; its findings as a tuple."""

    def __init__(self, detector):
        super().__init__()
        self.detector = detector

    def forward(self, image):
        return tuple(self.detector([image])[0].values())


def models():
    for name in DETECTORS:
        sizes = {} if name.startswith("ssd") else {"min_size": 96, "max_size": 128}
        yield make("detection", name,
                   lambda name=name, sizes=sizes: OneImage(
                       zoo.get_model(name, weights=None, weights_backbone=None, **sizes)),
                   lambda: [floats(3, 96, 112).sigmoid()])
