# SPDX-License-Identifier: Apache-2.0
"""Detectors of torchvision: proposals, boxes by data-dependent shapes, non-maximum suppression, masks, key points."""
from torch import nn
from torchvision import models as zoo
from torchvision.models.detection import faster_rcnn, keypoint_rcnn, mask_rcnn, rpn

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


def small_backbone():
    """Four times smaller, eight channels."""
    backbone = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 8, 3, 2, 1), nn.ReLU())
    backbone.out_channels = 8
    return backbone


def small_words():
    """What the heads have in common: few proposals, few findings."""
    return dict(rpn_anchor_generator=rpn.AnchorGenerator(((16, 32),), ((0.5, 1.0, 2.0),)), min_size=48, max_size=64,
                rpn_pre_nms_top_n_test=40, rpn_post_nms_top_n_test=20, box_detections_per_img=6,
                box_head=faster_rcnn.TwoMLPHead(8 * 7 * 7, 16), box_score_thresh=0.01)


def small_mask_rcnn():
    return mask_rcnn.MaskRCNN(small_backbone(), **small_words(), box_predictor=faster_rcnn.FastRCNNPredictor(16, 4),
                              mask_head=mask_rcnn.MaskRCNNHeads(8, (8,), 1),
                              mask_predictor=mask_rcnn.MaskRCNNPredictor(8, 8, 4))


def small_keypoint_rcnn():
    return keypoint_rcnn.KeypointRCNN(small_backbone(), **small_words(),
                                      box_predictor=faster_rcnn.FastRCNNPredictor(16, 2),
                                      keypoint_head=keypoint_rcnn.KeypointRCNNHeads(8, (8,)),
                                      keypoint_predictor=keypoint_rcnn.KeypointRCNNPredictor(8, 3))


def models():
    for name, build in (("small_mask_rcnn", small_mask_rcnn), ("small_keypoint_rcnn", small_keypoint_rcnn)):
        yield make("detection", name, lambda build=build: OneImage(build()), lambda: [floats(3, 40, 56).sigmoid()])
    for name in DETECTORS:
        sizes = {} if name.startswith("ssd") else {"min_size": 96, "max_size": 128}
        yield make("detection", name,
                   lambda name=name, sizes=sizes: OneImage(
                       zoo.get_model(name, weights=None, weights_backbone=None, **sizes)),
                   lambda: [floats(3, 96, 112).sigmoid()])
