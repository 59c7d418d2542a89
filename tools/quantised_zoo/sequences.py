# SPDX-License-Identifier: Apache-2.0
"""Architectures over rows, texts and sequences: an MLP, transformers, LSTM and GRU."""
import numpy
from onnx import TensorProto

from .net import BATCH, Net

WORDS, LENGTH, WIDTH, HEADS = 40, 8, 32, 2
FEATURES, STEPS, HIDDEN = 12, 6, 16


def mlp(**words):
    net = Net("mlp", **words)
    x = net.input("x", [BATCH, 24])
    x = net.op("Relu", net.gemm(x, 24, 32))
    x = net.op("Tanh", net.gemm(x, 32, 32, transposed=False))
    net.output(net.linear(x, 32, 10), [BATCH, 10], "y")
    return net


def heads_of(net, x, keys=False):
    split = net.reshape(x, -1, LENGTH, HEADS, WIDTH // HEADS)
    return net.op("Transpose", split, perm=[0, 2, 3, 1] if keys else [0, 2, 1, 3])


def attention(net, x, bias=True, mask=None):
    query, key, value = (net.linear(x, WIDTH, WIDTH, bias) for _ in range(3))
    scores = net.op("MatMul", heads_of(net, query), heads_of(net, key, keys=True))
    scores = net.op("Div", scores, net.constant(numpy.float32((WIDTH // HEADS) ** 0.5)))
    if mask is not None:
        scores = net.op("Where", mask, scores, net.constant(numpy.float32(-100)))
    mixed = net.op("MatMul", net.op("Softmax", scores, axis=-1), heads_of(net, value))
    mixed = net.reshape(net.op("Transpose", mixed, perm=[0, 2, 1, 3]), -1, LENGTH, WIDTH)
    return net.linear(mixed, WIDTH, WIDTH, bias)


def gelu(net, x):
    half = net.op("Erf", net.op("Div", x, net.constant(numpy.float32(2 ** 0.5))))
    half = net.op("Mul", x, net.op("Add", half, net.constant(numpy.float32(1))))
    return net.op("Mul", half, net.constant(numpy.float32(0.5)))


def encoder(**words):
    net = Net("encoder", **words)
    ids = net.input("ids", [BATCH, LENGTH], TensorProto.INT64)
    x = net.op("Gather", net.weights(WORDS, WIDTH, fan_in=2, stem="table"), ids)
    x = net.normalise(net.op("Add", x, net.weights(LENGTH, WIDTH, fan_in=8, stem="places")), WIDTH)
    x = net.normalise(net.op("Add", x, attention(net, x)), WIDTH)
    wide = gelu(net, net.linear(x, WIDTH, 2 * WIDTH))
    x = net.normalise(net.op("Add", x, net.linear(wide, 2 * WIDTH, WIDTH)), WIDTH)
    first = net.op("Gather", x, net.constant(numpy.int64(0)), axis=1)
    net.output(net.gemm(net.op("Tanh", net.gemm(first, WIDTH, WIDTH)), WIDTH, 3), [BATCH, 3], "y")
    return net


def root_mean_square(net, x):
    mean = net.mean(net.op("Pow", x, net.constant(numpy.float32(2))), -1)
    root = net.op("Sqrt", net.op("Add", mean, net.constant(numpy.float32(1e-5))))
    gain = net.constant(net.random.uniform(0.5, 1.5, WIDTH).astype(numpy.float32), "gain")
    return net.op("Mul", net.op("Div", x, root), gain)


def decoder(**words):
    net = Net("decoder", **words)
    ids = net.input("ids", [BATCH, LENGTH], TensorProto.INT64)
    x = net.op("Gather", net.weights(WORDS, WIDTH, fan_in=2, stem="table"), ids)
    mask = net.constant(numpy.tril(numpy.ones((1, 1, LENGTH, LENGTH), bool)), "mask")
    x = net.op("Add", x, attention(net, root_mean_square(net, x), bias=False, mask=mask))
    inner = root_mean_square(net, x)
    gate = net.linear(inner, WIDTH, 2 * WIDTH, bias=False)
    gate = net.op("Mul", gate, net.op("Sigmoid", gate))
    wide = net.op("Mul", gate, net.linear(inner, WIDTH, 2 * WIDTH, bias=False))
    x = net.op("Add", x, net.linear(wide, 2 * WIDTH, WIDTH, bias=False))
    net.output(net.linear(root_mean_square(net, x), WIDTH, WORDS, bias=False), [BATCH, LENGTH, WORDS], "y")
    return net


def recurrent(kind, gates, **words):
    net = Net(kind.lower(), **words)
    x = net.input("x", [STEPS, BATCH, FEATURES])
    rows = gates * HIDDEN
    both = net.op(kind, x, net.weights(2, rows, FEATURES, fan_in=FEATURES), net.weights(2, rows, HIDDEN, fan_in=HIDDEN),
                  net.constant(net.random.normal(0, 0.1, (2, 2 * rows)).astype(numpy.float32), "bias"),
                  hidden_size=HIDDEN, direction="bidirectional",
                  **({"linear_before_reset": 1} if kind == "GRU" else {}))
    both = net.reshape(net.op("Transpose", both, perm=[0, 2, 1, 3]), STEPS, -1, 2 * HIDDEN)
    net.output(net.linear(both, 2 * HIDDEN, 6), [STEPS, BATCH, 6], "y")
    return net


def lstm(**words):
    return recurrent("LSTM", 4, **words)


def gru(**words):
    return recurrent("GRU", 3, **words)


def rows_input(random, batch, amplitude):
    return {"x": (amplitude * random.normal(size=(batch, 24))).astype(numpy.float32)}


def text_input(random, batch, amplitude):
    return {"ids": random.integers(0, WORDS, (batch, LENGTH))}


def steps_input(random, batch, amplitude):
    return {"x": (amplitude * random.normal(size=(STEPS, batch, FEATURES))).astype(numpy.float32)}
