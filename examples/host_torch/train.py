# SPDX-License-Identifier: Apache-2.0
"""Trains a small network in torch, exports it with an open batch, and compares byoc's numbers with torch's."""

import io

import torch

import byoc


class Net(torch.nn.Module):
    """Says in which quarter of a ring a point lies."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(2, 32), torch.nn.Tanh(), torch.nn.Linear(32, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4)
        )

    def forward(self, points: torch.Tensor) -> torch.Tensor:
        return torch.softmax(self.layers(points), dim=1)


def make_points(count: int) -> tuple:
    angles = torch.rand(count) * 4
    radii = 0.5 + torch.rand(count)
    turns = angles * torch.pi / 2
    return torch.stack((radii * torch.cos(turns), radii * torch.sin(turns)), dim=1), angles.long()


def train(net: Net) -> None:
    optimiser = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(200):
        points, quarters = make_points(256)
        optimiser.zero_grad()
        torch.nn.functional.nll_loss(torch.log(net(points) + 1e-9), quarters).backward()
        optimiser.step()


def compile_net(net: Net) -> byoc.Model:
    """torch.export makes a graph of the module, torch.onnx writes it, and byoc compiles it from memory."""
    batch = torch.export.Dim("batch")
    example = (make_points(3)[0],)
    exported = torch.export.export(net, example, dynamic_shapes={"points": {0: batch}})
    file = io.BytesIO()
    torch.onnx.export(exported, dynamo=True, verbose=False).save(file)
    built = byoc.build(file.getvalue(), name="net")
    print(built.placement)
    return built.load()


def main() -> None:
    torch.manual_seed(0)
    net = Net()
    train(net)
    net.eval()
    model = compile_net(net)
    for count in (1, 7, 1000):
        points, quarters = make_points(count)
        with torch.no_grad():
            expected = net(points)
        result = torch.from_numpy(model(points))  # the tensor is read where it is
        print(f"{count} points: off by {(result - expected).abs().max():.1e} at most")
        assert torch.allclose(result, expected, atol=1e-5)
    right = (result.argmax(dim=1) == quarters).float().mean()
    print(f"{right:.0%} of 1000 points are in the right quarter")


main()
