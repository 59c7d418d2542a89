# SPDX-License-Identifier: Apache-2.0
"""Writes a model with its inputs and ONNX Runtime's outputs as a case of `byoc conform`."""
import contextlib
import io
import logging
import shutil
import warnings

import numpy
import onnxruntime
from onnx import numpy_helper

MOST_BYTES = 300 << 20  # of a model: the zoo is to stay quick


def make(model, root):
    """Makes the case unless it is there. Returns why there is none, or None."""
    folder = root / model.kind / model.name
    if (folder / "made").exists():
        return None
    shutil.rmtree(folder, ignore_errors=True)
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    reason = None
    try:
        inputs = export(model, folder / "model.onnx")
        save(folder / "model.onnx", inputs, data)
    except Exception as error:  # whatever an exporter throws: it is told, and the next model follows
        first = (str(error).strip().splitlines() or [""])[0]
        reason = f"{type(error).__name__}: {first[:200]}"
    if reason is not None:
        shutil.rmtree(folder)
        return reason
    (folder / "made").touch()
    return None


def export(model, path):
    logging.disable(logging.WARNING)
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        return model.export(path)


def save(path, inputs, data):
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(f"the model has over {MOST_BYTES >> 20} MiB")
    session = open_session(path, onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL)
    names = [value.name for value in session.get_inputs()]
    if len(names) != len(inputs):
        raise ValueError(f"the model has {len(names)} inputs ({', '.join(names)}), not {len(inputs)}")
    outputs = session.run(None, dict(zip(names, inputs)))
    plain = open_session(path, onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL).run(None, dict(zip(names, inputs)))
    if not all(agree(one, other) for one, other in zip(outputs, plain)):
        raise ValueError("ONNX Runtime gives other results without its optimisations: they depend on rounding")
    for i, (name, value) in enumerate(zip(names, inputs)):
        write(data / f"input_{i}.pb", value, name)
    for i, (entry, value) in enumerate(zip(session.get_outputs(), outputs)):
        write(data / f"output_{i}.pb", value, entry.name)


def open_session(path, level):
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.graph_optimization_level = 4, level
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def agree(one, other):
    """Are two outputs of one shape, and as equal as rounding lets them be? Lists are not looked into."""
    if isinstance(one, list):
        return True
    if one.shape != other.shape:
        return False
    return one.dtype.kind != "f" or numpy.allclose(one, other, rtol=1e-2, atol=1e-2, equal_nan=True)


def write(path, value, name):
    """A tensor, a sequence of tensors, or a list of maps: these as byoc gives them, one row for each map."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        value = numpy.array([[row[key] for key in row] for row in value], dtype=numpy.float32)
    if isinstance(value, list):
        proto = numpy_helper.from_list([numpy.asarray(item) for item in value], name)
    else:
        array = numpy.asarray(value)
        proto = numpy_helper.from_array(array.astype(object) if array.dtype.kind == "U" else array, name)
    path.write_bytes(proto.SerializeToString())
