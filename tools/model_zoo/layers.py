# SPDX-License-Identifier: Apache-2.0
"""Layers and small networks of torch: convolutions, normalizations, recurrences, resizing, indexing."""
import torch
from torch import nn

from .torch_export import both, floats, tokens


class Function(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


class Tagger(nn.Module):
    """Embedding, recurrence, a score for each token."""

    def __init__(self, recurrence, **words):
        super().__init__()
        self.embedding = nn.Embedding(50, 16)
        self.recurrence = recurrence(16, 24, batch_first=True, **words)
        self.scores = nn.Linear(48 if words.get("bidirectional") else 24, 7)

    def forward(self, ids):
        return self.scores(self.recurrence(self.embedding(ids))[0])


class UNet(nn.Module):
    """Two levels down and up, with skips."""

    def __init__(self, mode):
        super().__init__()
        self.mode = mode
        self.down1, self.down2 = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 16, 3, padding=1)
        self.up, self.out = nn.Conv2d(24, 8, 3, padding=1), nn.Conv2d(8, 2, 1)

    def forward(self, image):
        first = self.down1(image).relu()
        second = self.down2(nn.functional.max_pool2d(first, 2)).relu()
        words = {} if self.mode == "nearest" else {"align_corners": False}
        wide = nn.functional.interpolate(second, scale_factor=2.0, mode=self.mode, **words)
        return self.out(self.up(torch.cat([wide, first], 1)).relu())


def image():
    return [floats(2, 4, 16, 16)]


def rows():
    return [floats(5, 12)]


IMAGE_LAYERS = {
    "conv": lambda: nn.Conv2d(4, 8, 3, padding=1), "conv_stride": lambda: nn.Conv2d(4, 8, 3, stride=2),
    "conv_dilated": lambda: nn.Conv2d(4, 8, 3, dilation=2, padding=2),
    "conv_groups": lambda: nn.Conv2d(4, 8, 3, groups=2),
    "conv_depthwise": lambda: nn.Conv2d(4, 4, 5, groups=4, padding=2),
    "conv_circular": lambda: nn.Conv2d(4, 8, 3, padding=1, padding_mode="circular"),
    "conv_reflect": lambda: nn.Conv2d(4, 8, 3, padding=1, padding_mode="reflect"),
    "conv_transpose": lambda: nn.ConvTranspose2d(4, 8, 4, stride=2, padding=1),
    "conv_transpose_blocks": lambda: nn.ConvTranspose2d(4, 3, 2, stride=2),
    "conv_transpose_odd": lambda: nn.ConvTranspose2d(4, 3, 3, stride=2, padding=1, output_padding=1),
    "conv_transpose_uneven": lambda: nn.ConvTranspose2d(4, 3, (5, 4), stride=3, padding=(2, 1), bias=False),
    "conv_transpose_gaps": lambda: nn.ConvTranspose2d(4, 3, (2, 1), stride=3),
    "conv_transpose_plain": lambda: nn.ConvTranspose2d(4, 3, 3, padding=2, dilation=2),
    "conv_transpose_groups": lambda: nn.ConvTranspose2d(4, 8, 4, stride=2, padding=1, groups=4),
    "batch_norm": lambda: nn.BatchNorm2d(4),
    "group_norm": lambda: nn.GroupNorm(2, 4), "instance_norm": lambda: nn.InstanceNorm2d(4, affine=True),
    "local_response_norm": lambda: nn.LocalResponseNorm(3), "max_pool": lambda: nn.MaxPool2d(3, 2, padding=1),
    "max_pool_ceil": lambda: nn.MaxPool2d(3, 2, ceil_mode=True), "avg_pool": lambda: nn.AvgPool2d(3, 2, padding=1),
    "adaptive_avg_pool": lambda: nn.AdaptiveAvgPool2d(4), "adaptive_max_pool": lambda: nn.AdaptiveMaxPool2d(1),
    "pixel_shuffle": lambda: nn.PixelShuffle(2), "upsample_bilinear": lambda: nn.UpsamplingBilinear2d(scale_factor=2),
    "upsample_nearest": lambda: nn.UpsamplingNearest2d(scale_factor=2), "prelu": lambda: nn.PReLU(4),
    "reflection_pad": lambda: nn.ReflectionPad2d(2), "replication_pad": lambda: nn.ReplicationPad2d(2),
    "unfold": lambda: nn.Unfold(3), "softmax_2d": lambda: nn.Softmax2d(), "flatten": lambda: nn.Flatten(),
    "grid_sample": lambda: Function(lambda x: nn.functional.grid_sample(
        x, nn.functional.affine_grid(torch.tensor([[[1.0, 0.2, 0.0], [-0.1, 0.9, 0.1]]] * 2), [2, 4, 8, 8],
            align_corners=False),
        align_corners=False)),
}
ROW_LAYERS = {
    "linear": lambda: nn.Linear(12, 7), "gelu": nn.GELU, "gelu_tanh": lambda: nn.GELU("tanh"), "silu": nn.SiLU,
    "mish": nn.Mish,
    "elu": nn.ELU, "selu": nn.SELU, "celu": nn.CELU, "softplus": nn.Softplus, "hard_swish": nn.Hardswish,
    "hard_sigmoid": nn.Hardsigmoid, "hard_tanh": nn.Hardtanh, "log_softmax": lambda: nn.LogSoftmax(-1), "glu": nn.GLU,
    "layer_norm": lambda: nn.LayerNorm(12), "weight_norm": lambda: nn.utils.weight_norm(nn.Linear(12, 7)),
    "topk": lambda: Function(lambda x: torch.topk(x, 3)),
    "sort": lambda: Function(lambda x: torch.sort(x, descending=True)),
    "cumsum": lambda: Function(lambda x: torch.cumsum(x, 1)),
    "var_mean": lambda: Function(lambda x: torch.var_mean(x, 1)),
    "logsumexp": lambda: Function(lambda x: torch.logsumexp(x, 1)),
    "einsum": lambda: Function(lambda x: torch.einsum("ij,kj->ik", x, x)),
    "where": lambda: Function(lambda x: torch.where(x > 0, x, x * 0.1)),
    "tril": lambda: Function(lambda x: torch.tril(x @ x.T)),
    "nonzero": lambda: Function(lambda x: (x > 0).nonzero()), "masked_select": lambda: Function(lambda x: x[x > 0]),
    "squeeze_dim": lambda: Function(lambda x: x[:, :1].squeeze(1)),
    "roll": lambda: Function(lambda x: torch.roll(x, 2, 1)),
    "index_put": lambda: Function(lambda x: torch.index_put(x, (torch.tensor([0, 2]),), torch.tensor(1.0))),
    "scatter_add": lambda: Function(lambda x: torch.zeros(5, 12).scatter_add(1, (x > 0).long(), x)),
    "gather": lambda: Function(lambda x: torch.gather(x, 1, (x > 0).long())),
    "repeat": lambda: Function(lambda x: x.repeat(2, 3)),
    "cdist": lambda: Function(lambda x: torch.cdist(x, x)),
    "cosine": lambda: Function(lambda x: nn.functional.cosine_similarity(x, x.flip(0))),
    "one_hot": lambda: Function(lambda x: nn.functional.one_hot(x.argmax(1), 12)),
    "norm": lambda: Function(lambda x: x.norm(dim=1)),
    "bucketize_like": lambda: Function(lambda x: (x.unsqueeze(-1) > torch.tensor([-1.0, 0.0, 1.0])).sum(-1)),
}
SERIES_LAYERS = {
    "conv1d": lambda: nn.Conv1d(6, 8, 3), "conv1d_transpose": lambda: nn.ConvTranspose1d(6, 8, 3, stride=2),
    "conv1d_transpose_plain": lambda: nn.ConvTranspose1d(6, 8, 3, padding=1),
    "max_pool1d": lambda: nn.MaxPool1d(2), "batch_norm1d": lambda: nn.BatchNorm1d(6),
    "avg_pool1d": lambda: nn.AvgPool1d(3, 1),
}


def models():
    for name, build in IMAGE_LAYERS.items():
        yield from both("layers", name, build, image, {0: {0: "batch"}})
    for name, build in ROW_LAYERS.items():
        yield from both("layers", name, build, rows, {0: {0: "rows"}})
    for name, build in SERIES_LAYERS.items():
        yield from both("layers", name, build, lambda: [floats(2, 6, 20)], {0: {0: "batch", 2: "steps"}})
    for name, recurrence in {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}.items():
        for words in ({}, {"bidirectional": True}, {"num_layers": 2}):
            label = "_".join([name, "tagger", *words])
            yield from both("layers", label, lambda recurrence=recurrence, words=words: Tagger(recurrence, **words),
                            lambda: [tokens(2, 9)], {0: {0: "batch", 1: "steps"}})
    for mode in ("nearest", "bilinear"):
        yield from both("layers", f"unet_{mode}", lambda mode=mode: UNet(mode), lambda: [floats(1, 3, 32, 32)],
                        {0: {0: "batch", 2: "height", 3: "width"}})
