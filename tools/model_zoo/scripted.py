# SPDX-License-Identifier: Apache-2.0
"""Scripted modules of torch: loops and conditions stay in the model."""
import torch
from torch import nn

from .torch_export import floats, make


class Squeeze(nn.Module):
    """Its result's rank depends on a size."""

    def forward(self, x):
        return torch.squeeze(x, 1) * 2.0


class Countdown(nn.Module):
    """A loop whose number of turns is known when it runs."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 6)

    def forward(self, x, turns: torch.Tensor):
        for _ in range(int(turns)):
            x = torch.tanh(self.linear(x))
        return x


class Halve(nn.Module):
    """A loop that ends by its data."""

    def forward(self, x):
        while bool(x.abs().max() > 0.5):
            x = x / 2
        return x


class Choose(nn.Module):
    """A condition by data, with layers in both branches."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(6, 4), nn.Linear(6, 4)

    def forward(self, x):
        if bool(x.sum() > 0):
            return self.first(x)
        return self.second(x).relu()


class Collect(nn.Module):
    """A list that grows in a loop."""

    def forward(self, x):
        rows = []
        for i in range(x.size(0)):
            rows.append(x[i] * float(i))
        return torch.stack(rows)


def models():
    entries = {"squeeze": (Squeeze, lambda: [floats(3, 1, 4)], {0: {0: "rows", 1: "columns"}}),
               "squeeze_wide": (Squeeze, lambda: [floats(3, 2, 4)], {0: {0: "rows", 1: "columns"}}),
               "countdown": (Countdown, lambda: [floats(3, 6), torch.tensor(4)], {0: {0: "rows"}}),
               "halve": (Halve, lambda: [floats(3, 6) * 9], {0: {0: "rows"}}),
               "choose": (Choose, lambda: [floats(3, 6).abs()], {0: {0: "rows"}}),
               "choose_other": (Choose, lambda: [-floats(3, 6).abs()], {0: {0: "rows"}}),
               "collect": (Collect, lambda: [floats(3, 6)], {0: {0: "rows"}})}
    for name, (module, inputs, axes) in entries.items():
        yield make("scripted", name, lambda module=module: torch.jit.script(module()), inputs, 16, axes)
