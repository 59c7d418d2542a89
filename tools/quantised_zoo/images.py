# SPDX-License-Identifier: Apache-2.0
"""Architectures over images, volumes and series: small ones, whose blocks are those of the networks they are named after."""
import numpy

from .net import BATCH, Net

CHANNELS, SIZE = 3, 16


def begin(name, **words):
    net = Net(name, **words)
    return net, net.input("x", [BATCH, CHANNELS, SIZE, SIZE])


def relu(net, x):
    return net.op("Relu", x)


def resnet(**words):
    net, x = begin("resnet", **words)
    x = net.op("MaxPool", relu(net, net.conv(x, 3, 8)), kernel_shape=[2, 2], strides=[2, 2])
    for inputs, outputs, stride in ((8, 8, 1), (8, 16, 2)):
        inner = net.conv(relu(net, net.conv(x, inputs, outputs, stride=stride)), outputs, outputs)
        short = x if stride == 1 else net.conv(x, inputs, outputs, kernel=1, stride=stride)
        x = relu(net, net.op("Add", inner, short))
    net.classify(x, 16)
    return net


def resnet_batch_norm(**words):
    """BatchNormalization is still a node, as in exports of models in training mode."""
    net, x = begin("resnet_batch_norm", **words)

    def norm(x, channels):
        rows = [net.constant(net.random.uniform(0.5, 1.5, channels).astype(numpy.float32), "norm") for _ in range(4)]
        return net.op("BatchNormalization", x, *rows)
    x = relu(net, norm(net.conv(x, 3, 8, bias=False), 8))
    inner = norm(net.conv(relu(net, norm(net.conv(x, 8, 8, bias=False), 8)), 8, 8, bias=False), 8)
    net.classify(relu(net, net.op("Add", inner, x)), 8)
    return net


def mobilenet_v2(**words):
    net, x = begin("mobilenet_v2", **words)
    x = net.clip(net.conv(x, 3, 8, stride=2))
    for inputs, outputs, stride in ((8, 8, 1), (8, 12, 2), (12, 12, 1)):
        wide = inputs * 3
        inner = net.clip(net.conv(x, inputs, wide, kernel=1))
        inner = net.clip(net.conv(inner, wide, wide, stride=stride, group=wide))
        inner = net.conv(inner, wide, outputs, kernel=1)
        x = net.op("Add", x, inner) if (inputs, stride) == (outputs, 1) else inner
    net.classify(net.clip(net.conv(x, 12, 24, kernel=1)), 24)
    return net


def hard_swish(net, x, written_out):
    if not written_out:
        return net.op("HardSwish", x)
    gate = net.clip(net.op("Add", x, net.constant(numpy.float32(3))))
    return net.op("Div", net.op("Mul", x, gate), net.constant(numpy.float32(6)))


def squeeze_excite(net, x, channels):
    gate = net.op("GlobalAveragePool", x)
    gate = relu(net, net.conv(gate, channels, channels // 4, kernel=1))
    gate = net.op("HardSigmoid", net.conv(gate, channels // 4, channels, kernel=1), alpha=1 / 6, beta=0.5)
    return net.op("Mul", x, gate)


def mobilenet_v3(written_out=False, **words):
    net, x = begin("mobilenet_v3_formula" if written_out else "mobilenet_v3", **words)
    x = hard_swish(net, net.conv(x, 3, 8, stride=2), written_out)
    for kernel, stride in ((3, 1), (5, 2)):
        inner = hard_swish(net, net.conv(x, 8, 16, kernel=1), written_out)
        inner = hard_swish(net, net.conv(inner, 16, 16, kernel=kernel, stride=stride, group=16), written_out)
        inner = net.conv(squeeze_excite(net, inner, 16), 16, 8, kernel=1)
        x = net.op("Add", x, inner) if stride == 1 else inner
    net.classify(hard_swish(net, net.conv(x, 8, 24, kernel=1), written_out), 24)
    return net


def efficientnet_lite(**words):
    net, x = begin("efficientnet_lite", **words)
    x = net.clip(net.conv(x, 3, 8, stride=2))
    for kernel, dilation in ((3, 1), (5, 1), (3, 2)):
        inner = net.clip(net.conv(x, 8, 24, kernel=1))
        inner = net.clip(net.conv(inner, 24, 24, kernel=kernel, group=24, dilation=dilation))
        x = net.op("Add", net.conv(inner, 24, 8, kernel=1), x)
    x = net.op("AveragePool", net.clip(net.conv(x, 8, 16, kernel=1)), kernel_shape=[8, 8])
    net.output(net.gemm(net.reshape(x, -1, 16), 16, 10), [BATCH, 10], "y")
    return net


def efficientnet(**words):
    """With the Swish that EfficientNet has and its lite versions have not."""
    net, x = begin("efficientnet", **words)

    def swish(x):
        return net.op("Mul", x, net.op("Sigmoid", x))
    x = swish(net.conv(x, 3, 8, stride=2))
    inner = swish(net.conv(swish(net.conv(x, 8, 16, kernel=1)), 16, 16, group=16))
    gate = net.mean(inner, 2, 3)
    gate = net.op("Sigmoid", net.conv(swish(net.conv(gate, 16, 4, kernel=1)), 4, 16, kernel=1))
    x = net.op("Add", x, net.conv(net.op("Mul", inner, gate), 16, 8, kernel=1))
    net.classify(x, 8)
    return net


def squeezenet(**words):
    net, x = begin("squeezenet", **words)
    x = net.op("MaxPool", relu(net, net.conv(x, 3, 8)), kernel_shape=[3, 3], strides=[2, 2], pads=[0, 0, 1, 1])
    for inputs in (8, 16):
        narrow = relu(net, net.conv(x, inputs, 4, kernel=1))
        x = net.op("Concat", relu(net, net.conv(narrow, 4, 8, kernel=1)), relu(net, net.conv(narrow, 4, 8)), axis=1)
    x = net.op("GlobalAveragePool", relu(net, net.conv(x, 16, 10, kernel=1)))
    net.output(net.op("Softmax", net.op("Flatten", x), axis=1), [BATCH, 10], "y")
    return net


def unet(**words):
    net, x = begin("unet", **words)
    high = relu(net, net.conv(x, 3, 8))
    low = relu(net, net.conv(net.op("MaxPool", high, kernel_shape=[2, 2], strides=[2, 2]), 8, 16))
    lowest = relu(net, net.conv(net.op("MaxPool", low, kernel_shape=[2, 2], strides=[2, 2]), 16, 16))
    scales = net.constant(numpy.array([1, 1, 2, 2], numpy.float32))
    up = net.op("Resize", lowest, "", scales, mode="nearest", coordinate_transformation_mode="asymmetric",
                nearest_mode="floor")
    x = relu(net, net.conv(net.op("Concat", up, low, axis=1), 32, 16))
    up = net.op("ConvTranspose", x, net.weights(16, 8, 2, 2, fan_in=16), net.bias(8), kernel_shape=[2, 2],
                strides=[2, 2])
    x = relu(net, net.conv(net.op("Concat", up, high, axis=1), 16, 8))
    linear = net.op("Resize", x, "", scales, mode="linear", coordinate_transformation_mode="half_pixel")
    net.output(net.conv(linear, 8, 2, kernel=1), [BATCH, 2, 2 * SIZE, 2 * SIZE], "y")
    return net


def detector(**words):
    net, x = begin("detector", **words)

    def leaky(x):
        return net.op("LeakyRelu", x, alpha=0.1)
    x = leaky(net.conv(leaky(net.conv(x, 3, 8, stride=2)), 8, 16, stride=2))
    coarse = leaky(net.conv(x, 16, 16, stride=2))
    heads = []
    for features, cells in ((x, 16), (coarse, 4)):
        head = net.reshape(net.conv(features, 16, 18, kernel=1), -1, 2, 9, cells)
        heads.append(net.reshape(net.op("Transpose", head, perm=[0, 1, 3, 2]), -1, 2 * cells, 9))
    x = net.op("Concat", *heads, axis=1)
    sizes = net.constant(numpy.array([4, 1, 4], numpy.int64))
    boxes, object_score, classes = net.op("Split", x, sizes, results=3, axis=2)
    boxes = net.op("Mul", net.op("Sigmoid", boxes), net.constant(numpy.float32([2, 2, 4, 4])))
    scores = net.op("Mul", net.op("Softmax", classes, axis=2), net.op("Sigmoid", object_score))
    net.output(net.op("Concat", boxes, scores, axis=2), [BATCH, 40, 8], "y")
    return net


def shufflenet(**words):
    net, x = begin("shufflenet", **words)
    pads = net.constant(numpy.array([0, 0, 1, 1, 0, 0, 1, 1], numpy.int64))
    x = relu(net, net.conv(net.op("Pad", x, pads, mode="constant"), 3, 16, stride=2, pads=0))
    starts, middle, ends, axes = (net.constant(numpy.array([v], numpy.int64)) for v in (0, 8, 16, 1))
    left = net.op("Slice", x, starts, middle, axes)
    right = net.op("Slice", x, middle, ends, axes)
    right = net.conv(relu(net, net.conv(right, 8, 8, kernel=1)), 8, 8, group=8)
    right = relu(net, net.conv(right, 8, 8, kernel=1, group=2))
    x = net.reshape(net.op("Concat", left, right, axis=1), -1, 2, 8, 8, 8)
    x = net.reshape(net.op("Transpose", x, perm=[0, 2, 1, 3, 4]), -1, 16, 8, 8)
    net.classify(x, 16)
    return net


def series(**words):
    """Dilated convolutions over a series, as in speech and sensor models."""
    net = Net("series", **words)
    x = net.input("x", [BATCH, 4, 32])
    for inputs, dilation in ((4, 1), (8, 2), (8, 4)):
        inner = relu(net, net.conv(x, inputs, 8, dilation=dilation, dims=1))
        x = inner if inputs != 8 else net.op("Add", x, inner)
    net.classify(x, 8)
    return net


def volume(**words):
    net = Net("volume", **words)
    x = net.input("x", [BATCH, 2, 6, 8, 8])
    x = relu(net, net.conv(x, 2, 6, dims=3))
    x = net.op("MaxPool", x, kernel_shape=[2, 2, 2], strides=[2, 2, 2])
    net.classify(relu(net, net.conv(x, 6, 8, dims=3)), 8)
    return net


def image(random, batch, amplitude):
    return {"x": (amplitude * random.normal(size=(batch, CHANNELS, SIZE, SIZE))).astype(numpy.float32)}


def series_input(random, batch, amplitude):
    return {"x": (amplitude * random.normal(size=(batch, 4, 32))).astype(numpy.float32)}


def volume_input(random, batch, amplitude):
    return {"x": (amplitude * random.normal(size=(batch, 2, 6, 8, 8))).astype(numpy.float32)}
