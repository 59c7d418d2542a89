# SPDX-License-Identifier: Apache-2.0
"""What the tests share: models, artifacts of them, children, and a folder for each test."""

import atexit
import faulthandler
import gc
import glob
import os
import shutil
import signal
import subprocess
import tempfile
import traceback
import unittest

import byoc
import numpy as np

try:
    import onnx
    from onnx import TensorProto, helper
except ImportError:
    onnx = None

needs_onnx = unittest.skipIf(onnx is None, "this python has no onnx")


def make(nodes, inputs, outputs, initializers=(), opset=18):
    """The bytes of a model. Inputs and outputs: (name, type of TensorProto, shape)."""
    graph = helper.make_graph(
        list(nodes),
        "test",
        [helper.make_tensor_value_info(*row) for row in inputs],
        [helper.make_tensor_value_info(*row) for row in outputs],
        list(initializers),
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    return model.SerializeToString()


def linear(rows=2, seed=1):
    """y = relu(x w), with `rows` rows or an open number of them."""
    random = np.random.default_rng(seed)
    weights = random.standard_normal((4, 3)).astype(np.float32)
    return make(
        [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Relu", ["p"], ["y"])],
        [("x", TensorProto.FLOAT, [rows, 4])],
        [("y", TensorProto.FLOAT, [rows, 3])],
        [helper.make_tensor("w", TensorProto.FLOAT, [4, 3], weights.tobytes(), raw=True)],
    )


def unary(op, dtype, shape=(2, 3)):
    return make([helper.make_node(op, ["x"], ["y"])], [("x", dtype, list(shape))], [("y", dtype, list(shape))])


def matmul():
    """y = a b, of any sizes."""
    return make(
        [helper.make_node("MatMul", ["a", "b"], ["y"])],
        [("a", TensorProto.FLOAT, ["N", "K"]), ("b", TensorProto.FLOAT, ["K", "M"])],
        [("y", TensorProto.FLOAT, ["N", "M"])],
    )


def gather():
    """Texts, by their numbers; and all of them."""
    return make(
        [helper.make_node("Gather", ["x", "i"], ["y"]), helper.make_node("Identity", ["x"], ["z"])],
        [("x", TensorProto.STRING, ["N"]), ("i", TensorProto.INT64, ["M"])],
        [("y", TensorProto.STRING, ["M"]), ("z", TensorProto.STRING, ["N"])],
    )


def nonzero():
    """The indices of what is not 0: how many, only the run finds out."""
    return make(
        [helper.make_node("NonZero", ["x"], ["y"])],
        [("x", TensorProto.FLOAT, ["N"])],
        [("y", TensorProto.INT64, [1, "found"])],
    )


def copies(op="Identity", dtype=1, shape=("N",)):
    """What `op` makes of x, of any size or of a known one."""
    return make([helper.make_node(op, ["x"], ["y"])], [("x", dtype, list(shape))], [("y", dtype, list(shape))])


def texts():
    return copies(dtype=TensorProto.STRING)


def four_texts():
    return copies(dtype=TensorProto.STRING, shape=(4,))


def negative():
    return copies("Neg", shape=(4,))


def opposite():
    return copies("Not", dtype=TensorProto.BOOL, shape=(4,))


def complement():
    return copies("BitwiseNot", dtype=TensorProto.UINT8, shape=(4,))


# ---- artifacts, each built once in a process ----

IS_SANITIZED = bool(os.environ.get("BYOC_TEST_SANITIZE"))
if IS_SANITIZED:
    os.environ.pop("LD_PRELOAD", None)  # for this process, not for the compilers that it starts
_folder = None
_paths = {}


def _compile(folder, sources, *more):
    flags = ["-std=gnu11", "-O0", "-g1", "-fopenmp-simd", "-fPIC", "-DBYOC_THREADS", f"-I{folder}/include", "-I."]
    checks = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
    subprocess.run(["gcc", *flags, *checks, *more, *glob.glob(f"{folder}/{sources}")], check=True, cwd=_folder)


def _sanitized(name, model):
    """The model as C source, compiled with the sanitizers that the interpreter was started with. All have one runtime."""
    source = os.path.join(_folder, name, "model.c")
    os.mkdir(os.path.join(_folder, name))
    byoc.build(model, source, target="c", name="model")
    if not _paths:
        _compile(source, "runtime/*.c", "-c")
    with open(os.path.join(source, "entry.c"), "w") as file:
        file.write("const void *model_artifact_entry(unsigned version);\n")
        file.write("const void *byoc_artifact_entry(unsigned version);\n")
        file.write("const void *byoc_artifact_entry(unsigned version) { return model_artifact_entry(version); }\n")
    path = os.path.join(_folder, name + ".so")
    _compile(source, "*.c", "-shared", "-o", path, *glob.glob(f"{_folder}/*.o"), "-lm", "-lpthread")
    return path


def artifact(make_model):
    """The path of an artifact of make_model()."""
    global _folder
    name = make_model.__name__
    if _folder is None:
        _folder = tempfile.mkdtemp(prefix="byoc-test-")
        atexit.register(shutil.rmtree, _folder, ignore_errors=True)  # children of the tests end without this
    if name not in _paths:
        model = make_model()
        path = os.path.join(_folder, name + ".so")
        _paths[name] = _sanitized(name, model) if IS_SANITIZED else byoc.build(model, path, target="c").path
    return _paths[name]


# ---- children ----


def in_child(function, seconds=60):
    """Calls a function in a child. Returns what went wrong there: "" is nothing."""
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(out)
        said = "it ended without a word"
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            faulthandler.register(signal.SIGALRM, chain=True)  # who hangs says where, and ends
            signal.alarm(seconds)
            function()
            said = ""
        except BaseException:
            said = traceback.format_exc()
        finally:
            os.write(into, said.encode()[:4000])
            os._exit(0)
    os.close(into)
    with open(out, errors="replace") as file:
        said = file.read()
    status = os.waitpid(child, 0)[1]
    return said if status == 0 else said or f"it ended with status {status}"


class Collecting(unittest.TestCase):
    """Tests during which the garbage is collected at every allocation, as often as Python can."""

    def setUp(self):
        gc.collect()
        gc.freeze()  # what was there before would take all the time
        threshold = gc.get_threshold()
        gc.set_threshold(1, 1, 1)
        self.addCleanup(gc.unfreeze)
        self.addCleanup(gc.set_threshold, *threshold)


class InFolder(unittest.TestCase):
    """Each test has an empty folder, self.folder."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="byoc-test-")
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)
