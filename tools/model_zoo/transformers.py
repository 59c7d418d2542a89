# SPDX-License-Identifier: Apache-2.0
"""Small transformers written in torch: encoders, decoders with a cache, relative positions, rotary ones, mixtures."""
import math

import torch
from torch import nn

from .torch_export import both, floats, tokens

WIDTH, HEADS = 32, 4


def split(x):
    return x.view(x.size(0), x.size(1), HEADS, WIDTH // HEADS).transpose(1, 2)


def attend(query, key, value, mask=None):
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores + mask
    mixed = scores.softmax(-1) @ value
    return mixed.transpose(1, 2).reshape(mixed.size(0), mixed.size(2), WIDTH)


class Bert(nn.Module):
    """Token and position embeddings, two encoder layers, a mask of padding."""

    def __init__(self):
        super().__init__()
        self.word, self.place = nn.Embedding(50, WIDTH), nn.Embedding(64, WIDTH)
        self.layers = nn.ModuleList([Block() for _ in range(2)])
        self.pool = nn.Linear(WIDTH, WIDTH)

    def forward(self, ids, mask):
        x = self.word(ids) + self.place(torch.arange(ids.size(1)))
        bias = (1.0 - mask[:, None, None, :].float()) * -10000.0
        for layer in self.layers:
            x = layer(x, bias)
        return x, torch.tanh(self.pool(x[:, 0]))


class Block(nn.Module):
    """Attention and a feed-forward network, each with a residual and a norm."""

    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.up, self.down = nn.Linear(WIDTH, 64), nn.Linear(64, WIDTH)
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)

    def forward(self, x, bias=None):
        mixed = attend(split(self.query(x)), split(self.key(x)), split(self.value(x)), bias)
        x = self.norm1(x + self.out(mixed))
        return self.norm2(x + self.down(nn.functional.gelu(self.up(x))))


class RelativeBlocks(nn.Module):
    """Three blocks with one sliced bias of positions, as T5 has."""

    def __init__(self):
        super().__init__()
        self.word, self.bias = nn.Embedding(50, WIDTH), nn.Parameter(torch.randn(1, HEADS, 24, 24))
        self.blocks = nn.ModuleList([Block() for _ in range(3)])

    def forward(self, ids):
        x, steps = self.word(ids), ids.size(1)
        for block in self.blocks:
            x = block(x, self.bias[:, :, :steps, :steps])
        return x


class CachedStep(nn.Module):
    """One step of a decoder: new keys and values behind those of before."""

    def __init__(self):
        super().__init__()
        self.block = Block()

    def forward(self, x, keys, values):
        keys = torch.cat([keys, split(self.block.key(x))], 2)
        values = torch.cat([values, split(self.block.value(x))], 2)
        return self.block.out(attend(split(self.block.query(x)), keys, values)), keys, values


class Rotary(nn.Module):
    """Rotary positions and a norm by root mean square, as Llama has."""

    def __init__(self):
        super().__init__()
        self.block, self.scale = Block(), nn.Parameter(torch.ones(WIDTH))

    def turn(self, x):
        half = x.size(-1) // 2
        angles = torch.arange(x.size(2))[:, None].float() / 10000 ** (torch.arange(half).float() / half)
        left, right = x[..., :half], x[..., half:]
        return torch.cat([left * angles.cos() - right * angles.sin(), right * angles.cos() + left * angles.sin()], -1)

    def forward(self, x):
        normed = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.scale
        query, key = self.turn(split(self.block.query(normed))), self.turn(split(self.block.key(normed)))
        mask = torch.full((x.size(1), x.size(1)), float("-inf")).triu(1)
        x = x + self.block.out(attend(query, key, split(self.block.value(normed)), mask))
        return x + self.block.down(nn.functional.silu(self.block.up(x)))


class Experts(nn.Module):
    """Two of four experts for each token, by their scores."""

    def __init__(self):
        super().__init__()
        self.scores = nn.Linear(WIDTH, 4)
        self.experts = nn.ModuleList([nn.Linear(WIDTH, WIDTH) for _ in range(4)])

    def forward(self, x):
        weights, chosen = self.scores(x).softmax(-1).topk(2)
        total = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            total = total + expert(x) * (weights * (chosen == i)).sum(-1, keepdim=True)
        return total


class Whole(nn.Module):
    """A layer of torch's own decoder, with torch's own attention."""

    def __init__(self):
        super().__init__()
        self.body = nn.TransformerDecoderLayer(WIDTH, HEADS, 64, batch_first=True)

    def forward(self, source, target):
        return self.body(target, source)


def mask(rows, columns):
    value = torch.ones(rows, columns, dtype=torch.int64)
    value[0, columns // 2:] = 0
    return value


def models():
    steps = {0: "batch", 1: "steps"}
    yield from both("transformers", "bert", Bert, lambda: [tokens(2, 9), mask(2, 9)], {0: steps, 1: steps})
    yield from both("transformers", "relative", RelativeBlocks, lambda: [tokens(2, 9)], {0: steps})
    past = {0: "batch", 2: "past"}
    cache = (2, HEADS, 5, WIDTH // HEADS)
    yield from both("transformers", "cached_step", CachedStep,
                    lambda: [floats(2, 1, WIDTH), floats(*cache), floats(*cache, seed=3)], {0: {0: "batch"}, 1: past,
                        2: past})
    yield from both("transformers", "rotary", Rotary, lambda: [floats(2, 7, WIDTH)], {0: steps})
    yield from both("transformers", "experts", Experts, lambda: [floats(2, 7, WIDTH)], {0: steps})
    yield from both("transformers", "whole", Whole, lambda: [floats(2, 7, WIDTH), floats(2, 5, WIDTH, seed=3)],
                    {0: {0: "batch"}, 1: {0: "batch"}})
