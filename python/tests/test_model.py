# SPDX-License-Identifier: Apache-2.0
"""byoc.load: runs against ONNX Runtime, without copies, with open shapes, contexts and threads."""

import gc
import multiprocessing
import os
import shutil
import subprocess
import tempfile
import threading
import unittest

import byoc
import numpy as np
from byoc import _tensors as tensors
from support import InFolder, linear, make, needs_onnx, onnx, unary

try:
    import onnxruntime
except ImportError:
    onnxruntime = None
try:
    import torch
except ImportError:
    torch = None

if onnx is not None:
    from onnx import TensorProto, helper

INT4 = 22  # TensorProto.INT4, which the onnx of Debian 12 does not know yet
RANDOM = np.random.default_rng(7)


def array(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


class Foreign:
    """A tensor of another library: all that it offers is DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def _open_in_child(model, context):
    global _in_child
    _in_child = model, context, model.context(threads=2)


def _run_in_child(x):
    model, inherited, own = _in_child
    return model(x), inherited.run(x)["y"], own.run(x)["y"]


@needs_onnx
class Static(InFolder):
    @classmethod
    def setUpClass(cls):
        cls.built = byoc.build(linear(), target="c", profile=True)
        cls.model = cls.built.load()

    def test_what_it_says_of_itself(self):
        (x,), (y,) = self.model.inputs, self.model.outputs
        self.assertEqual((x.name, x.dtype, x.shape, x.kind), ("x", "f32", (2, 4), "t"))
        self.assertEqual((y.name, y.shape), ("y", (2, 3)))
        self.assertFalse(self.model.is_dynamic)
        self.assertIn("targets", self.model.metadata)
        self.assertIn("x: f32[2, 4]", repr(self.model))

    def test_weights_in_a_file_give_the_same_results(self):
        x = array(2, 4)
        byoc.build(linear(), self.path("one.so"), target="c", weights=self.path("shared.weights"))
        byoc.build(linear(), self.path("two.so"), target="c", weights="external")
        np.testing.assert_array_equal(byoc.load(self.path("one.so"))(x), self.model(x))
        os.remove(self.path("two.weights"))
        with self.assertRaisesRegex(byoc.Error, "the weights file '.*two.weights' cannot be read"):
            byoc.load(self.path("two.so"))(x)

    @unittest.skipIf(shutil.which("byoc") is None, "the command byoc is not in PATH")
    def test_several_models_in_one_artifact_are_chosen_by_name(self):
        for name, rows in (("two", 2), ("five", 5)):
            with open(self.path(f"{name}.onnx"), "wb") as file:
                file.write(linear(rows))
        words = ["--entry", "two=two.onnx", "--entry", "five=five.onnx", "-t", "c", "-o", "both.so"]
        subprocess.run(["byoc", "build", *words], cwd=self.folder, check=True, stdout=subprocess.DEVNULL)
        first, five = byoc.load(self.path("both.so")), byoc.load(self.path("both.so"), entry="five")
        self.assertEqual((first.entry, five.entry, five.entries), ("two", "five", ["two", "five"]))
        x = array(5, 4)
        np.testing.assert_allclose(five(x)[:2], self.model(x[:2]), rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(first(x[:2]), self.model(x[:2]))
        with self.assertRaisesRegex(byoc.Error, "no entry 'three'; it has two, five"):
            byoc.load(self.path("both.so"), entry="three")
        self.assertEqual(self.model.entries, [])

    @unittest.skipIf(onnxruntime is None, "this python has no onnxruntime")
    def test_against_onnxruntime(self):
        x = array(2, 4)
        (expected,) = onnxruntime.InferenceSession(linear(), providers=["CPUExecutionProvider"]).run(None, {"x": x})
        np.testing.assert_allclose(self.model(x), expected, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(self.model(x=x), self.model(x))
        np.testing.assert_array_equal(self.model.run({"x": x})["y"], self.model(x))

    def test_inputs_that_are_not_dense(self):
        x = array(4, 2)
        np.testing.assert_array_equal(self.model(x.T), self.model(np.ascontiguousarray(x.T)))
        np.testing.assert_array_equal(self.model(Foreign(x.T)), self.model(x.T))
        self.assertEqual(self.model([[1, 2, 3, 4]] * 2).shape, (2, 3))

    def test_dlpack_is_read_in_place(self):
        x = array(2, 4)
        memory = byoc._tensors.read(Foreign(x), 1, "x")
        self.assertEqual(memory.address, x.ctypes.data)
        np.testing.assert_array_equal(self.model(Foreign(x)), self.model(x))

    def test_results_in_given_memory(self):
        x, y = array(2, 4), np.zeros((2, 3), np.float32)
        results = self.model.run(x, outputs={"y": y})
        self.assertIs(results["y"], y)
        np.testing.assert_array_equal(y, self.model(x))
        z = np.zeros((2, 3), np.float32)
        self.model.run(x, outputs={"y": Foreign(z)})
        np.testing.assert_array_equal(z, y)

    def test_refusals(self):
        x = array(2, 4)
        for error, what, call in [
            (TypeError, "input 'x' takes f32 .*not float64", lambda: self.model(x.astype(np.float64))),
            (TypeError, "not DLPack's type 2 of 64 bits", lambda: self.model(Foreign(x.astype(np.float64)))),
            (ValueError, r"shape \[2, 4\], not \[3, 4\]", lambda: self.model(array(3, 4))),
            (TypeError, "'x' is not given", lambda: self.model()),
            (TypeError, "no input 'z'", lambda: self.model(z=x)),
            (TypeError, "takes 1 input, not 2", lambda: self.model(x, x)),
            (TypeError, "given twice", lambda: self.model(x, x=x)),
            (TypeError, "no output 'z'", lambda: self.model.run(x, outputs={"z": x})),
            (ValueError, "output 'y' has shape", lambda: self.model.run(x, outputs={"y": x})),
            (TypeError, "dense array", lambda: self.model.run(x, outputs={"y": array(3, 2).T})),
        ]:
            with self.assertRaisesRegex(error, what):
                call()

    def test_profile(self):
        rows = self.model.context().profile(array(2, 4))
        self.assertGreater(len(rows), 0)
        self.assertTrue(all(row.nanoseconds >= 0 for row in rows))
        plain = byoc.build(linear(), target="c").load()
        with self.assertRaisesRegex(byoc.Error, "profile=True"):
            plain.context().profile(array(2, 4))

    def test_threads(self):
        inputs = [array(2, 4) for _ in range(4)]
        expected = [self.model(x) for x in inputs]
        failures = []

        def work(i):
            context = self.model.context(threads=1)
            for _ in range(200):
                if not np.array_equal(context.run(inputs[i])["y"], expected[i]):
                    failures.append(i)
                if not np.array_equal(self.model(inputs[i]), expected[i]):
                    failures.append(i)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_processes(self):
        """Children of a fork use the contexts of their parent, whose threads they do not have, as their own."""
        inputs = [array(2, 4) for _ in range(4)]
        for target in ("c", "cutlass; c", "cblas; c", "dnnl; c"):
            model = byoc.build(linear(), target=target).load()
            context = model.context(threads=2)
            expected = [context.run(x)["y"] for x in inputs]
            with multiprocessing.get_context("fork").Pool(2, _open_in_child, (model, context)) as pool:
                results = pool.map_async(_run_in_child, inputs).get(timeout=60)
            for result, right in zip(results, expected):
                for one in result:
                    np.testing.assert_array_equal(one, right)
            np.testing.assert_array_equal(context.run(inputs[0])["y"], expected[0])

    def test_files_that_change(self):
        """A file that is built again under its name is loaded again, while the old one is still open."""
        path = self.path("m.so")
        x = array(2, 4)
        byoc.build(unary("Neg", TensorProto.FLOAT, (2, 4)), path, target="c")
        old = byoc.load(path)
        byoc.build(unary("Abs", TensorProto.FLOAT, (2, 4)), path, target="c")
        new = byoc.load(path)
        np.testing.assert_array_equal(new(x), abs(x))
        np.testing.assert_array_equal(old(x), -x)
        del old, new
        gc.collect()
        np.testing.assert_array_equal(byoc.load(path)(x), abs(x))

    def test_weights_that_change(self):
        """Each load has the weights that were there then, wherever they are, and keeps them."""
        x = array(2, 4)
        for weights in ("internal", "appended", "external", self.path("shared.weights")):
            path, models = self.path("w.so"), []
            for seed in range(3):
                byoc.build(linear(seed=seed), path, target="c", weights=weights)
                models.append(byoc.load(path))
                models[-1](x)
            for seed, model in enumerate(models):
                w = np.random.default_rng(seed).standard_normal((4, 3)).astype(np.float32)
                right = np.maximum(x @ w, 0)
                np.testing.assert_allclose(model(x), right, rtol=1e-5, atol=1e-5, err_msg=f"{weights} {seed}")
                np.testing.assert_array_equal(model.context(threads=1).run(x)["y"], model(x))
            os.remove(path)

    def test_weights_named_by_the_environment(self):
        x, path = array(2, 4), self.path("w.so")
        byoc.build(linear(), path, target="c", weights="external")
        old = byoc.load(path)
        old(x)
        byoc.build(linear(seed=5), path, target="c", weights="external")
        os.rename(self.path("w.weights"), self.path("moved"))
        with self.assertRaisesRegex(byoc.Error, "the weights file '.*w.weights' cannot be read"):
            byoc.load(path)(x)
        os.environ["BYOC_WEIGHTS"] = self.path("moved")
        self.addCleanup(os.environ.pop, "BYOC_WEIGHTS")
        self.assertFalse(np.array_equal(byoc.load(path)(x), old(x)))

    def test_closed_when_nobody_uses_it(self):
        path = self.path("closed.so")
        byoc.build(unary("Neg", TensorProto.FLOAT, (2, 4)), path, target="c")
        model = byoc.load(path)
        model(array(2, 4))
        context = model.context()
        real = model.path

        def is_open():
            with open("/proc/self/maps") as file:
                return real in file.read()

        self.assertTrue(is_open())
        del model
        self.assertTrue(is_open())
        context.run(array(2, 4))
        del context
        self.assertFalse(is_open())

    def test_no_artifact(self):
        with open(self.model.path, "rb") as file:
            whole = file.read()
        other = b"\x02\x01" if whole[18:20] != b"\x02\x01" else b"\x03\x01"  # no machine that byoc is built for
        for content, reason in (
            (b"text", "is not an artifact: byoc.build makes one"),
            (b"!<arch>\n", "is a static library, which is linked into programs"),
            (whole[:64], "cannot be loaded"),
            (whole[:18] + other + whole[20:], "was made for another machine, and this machine is "),
            (whole[:18] + b"\xb7\x00" + whole[20:], "was made for aarch64, and"),
        ):
            if content == whole:
                continue
            with open(self.path("text.so"), "wb") as file:
                file.write(content)
            with self.assertRaisesRegex(byoc.Error, reason):
                byoc.load(self.path("text.so"))
        with self.assertRaises(FileNotFoundError):
            byoc.load(self.path("nowhere.so"))
        os.mkfifo(self.path("pipe.so"))
        for path in (self.path("pipe.so"), self.folder, "/dev/null"):
            with self.assertRaisesRegex(byoc.Error, "is not a regular file: copy the artifact into one"):
                byoc.load(path)

    def test_no_regular_file(self):
        os.mkfifo(self.path("pipe.so"))
        for path in (self.path("pipe.so"), self.folder, "/dev/zero"):
            with self.assertRaisesRegex(byoc.Error, "is not a regular file"):
                byoc.load(path)

    def test_timeout(self):
        body = helper.make_graph(
            [helper.make_node("Identity", ["c"], ["co"]), helper.make_node("Neg", ["v"], ["vo"])],
            "body",
            [
                helper.make_tensor_value_info("i", TensorProto.INT64, []),
                helper.make_tensor_value_info("c", TensorProto.BOOL, []),
                helper.make_tensor_value_info("v", TensorProto.FLOAT, [2]),
            ],
            [
                helper.make_tensor_value_info("co", TensorProto.BOOL, []),
                helper.make_tensor_value_info("vo", TensorProto.FLOAT, [2]),
            ],
        )
        model = make(
            [helper.make_node("Loop", ["", "go", "x"], ["y"], body=body)],
            [("go", TensorProto.BOOL, []), ("x", TensorProto.FLOAT, [2])],
            [("y", TensorProto.FLOAT, [2])],
        )
        context = byoc.build(model, target="c").load().context(timeout=0.02)
        x = np.array([1, 2], np.float32)
        with self.assertRaisesRegex(byoc.Error, "the run took longer than 20 ms") as raised:
            context.run(np.array(True), x)
        self.assertTrue(raised.exception.timed_out)
        np.testing.assert_array_equal(context.run(np.array(False), x)["y"], x)
        with self.assertRaises(ValueError):
            self.model.context(timeout=-1)

    def test_numbers_of_threads(self):
        for threads in (-1, 257, 2**32 + 1):
            with self.assertRaisesRegex((byoc.Error, ValueError), "not between 0 and"):
                self.model.context(threads=threads)

    @unittest.skipIf(torch is None, "this python has no torch")
    def test_torch(self):
        x = torch.randn(2, 4)
        y = torch.zeros(2, 3)
        self.model.run(x, outputs={"y": y})
        np.testing.assert_array_equal(y.numpy(), self.model(x.numpy()))


@needs_onnx
class Types(unittest.TestCase):
    def test_numbers(self):
        for number, dtype in [
            (TensorProto.INT8, np.int8),
            (TensorProto.INT32, np.int32),
            (TensorProto.INT64, np.int64),
            (TensorProto.FLOAT16, np.float16),
            (TensorProto.DOUBLE, np.float64),
        ]:
            x = RANDOM.integers(-50, 50, (2, 3)).astype(dtype)
            np.testing.assert_array_equal(byoc.build(unary("Neg", number), target="c").load()(x), -x)

    def test_bool(self):
        x = np.array([[True, False, True]] * 2)
        np.testing.assert_array_equal(byoc.build(unary("Not", TensorProto.BOOL), target="c").load()(x), ~x)

    def test_bf16_and_i4(self):
        """bf16 comes as ml_dtypes has it, or as u16; one number of 4 bits is one element."""
        nodes = [helper.make_node("Cast", ["x"], ["y"], to=TensorProto.BFLOAT16)]
        model = byoc.build(
            make(nodes, [("x", TensorProto.FLOAT, [3])], [("y", TensorProto.BFLOAT16, [3])], opset=21), target="c"
        ).load()
        y = model(np.array([1, -2, 0.5], np.float32))
        np.testing.assert_array_equal(y.view(np.uint16), [0x3F80, 0xC000, 0x3F00])
        nodes = [
            helper.make_node("Cast", ["x"], ["i"], to=TensorProto.FLOAT),
            helper.make_node("Neg", ["i"], ["n"]),
            helper.make_node("Cast", ["n"], ["y"], to=INT4),
        ]
        model = byoc.build(
            make(nodes, [("x", INT4, [3])], [("y", INT4, [3])], opset=21), target="c"
        ).load()
        np.testing.assert_array_equal(model(np.array([1, -2, 7], np.int8)), [-1, 2, -7])

    def test_packed_types(self):
        """Each type of less than a byte, one element in each byte of an array."""
        cases = {25: [0, 1, 2, 3, 1], 26: [-2, -1, 0, 1, -2], 21: [0, 15, 7, 8, 1], 22: [-8, 7, -1, 0, 3]}
        for number, values in cases.items():
            name, kind = tensors.element_type(number).name, tensors.element_type(number)
            x = np.array(values, kind.numpy)
            text = (
                f"module {{opset_import. = 25}} {{\n  func @main(%x : {name}[5]) -> (%y : {name}[5]) {{\n"
                f"    %y = Identity@25(%x) : {name}[5]\n    return %y\n  }}\n}}\n"
            )
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "narrow.byoc")
                with open(path, "w") as file:
                    file.write(text)
                model = byoc.build(path, os.path.join(folder, "narrow.so"), target="c").load()
                np.testing.assert_array_equal(model(x), x)
                self.assertEqual(model(x).dtype, x.dtype)
                with self.assertRaisesRegex(ValueError, f"is {name}: its elements lie between"):
                    model(np.array([100, 0, 0, 0, 0], kind.numpy))

    def test_strings(self):
        nodes = [helper.make_node("StringConcat", ["x", "x"], ["y"])]
        model = byoc.build(
            make(nodes, [("x", TensorProto.STRING, [2])], [("y", TensorProto.STRING, [2])], opset=20), target="c"
        ).load()
        self.assertEqual(list(model(["a", "ü"])), ["aa", "üü"])


@needs_onnx
class Dynamic(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = byoc.build(linear("rows"), target="c", profile=True).load()

    def test_shapes(self):
        self.assertEqual(self.model.inputs[0].shape, ("rows", 4))
        self.assertTrue(self.model.is_dynamic)
        whole = array(9, 4)
        expected = self.model(whole)
        for rows in (1, 3, 9, 0):
            y = self.model(whole[:rows])
            self.assertEqual(y.shape, (rows, 3))
            np.testing.assert_allclose(y, expected[:rows], rtol=1e-6, atol=1e-6)

    def test_results_stay(self):
        """Each run has results of its own."""
        context = self.model.context()
        x = array(3, 4)
        first = context.run(x)["y"]
        kept = first.copy()
        context.run(array(3, 4))
        np.testing.assert_array_equal(first, kept)

    def test_given_memory(self):
        x, y = array(3, 4), np.zeros((3, 3), np.float32)
        self.assertIs(self.model.run(x, outputs={"y": y})["y"], y)
        np.testing.assert_array_equal(y, self.model(x))
        large = np.zeros((5, 3), np.float32)
        part = self.model.run(x, outputs={"y": large})["y"]
        self.assertEqual(part.shape, (3, 3))
        self.assertTrue(np.shares_memory(part, large))
        np.testing.assert_array_equal(part, y)
        with self.assertRaisesRegex(byoc.Error, "y"):
            self.model.run(x, outputs={"y": np.zeros((1, 3), np.float32)})

    def test_refusals(self):
        with self.assertRaises(byoc.Error) as caught:
            self.model(array(2, 5))
        self.assertIn("x", str(caught.exception))
        with self.assertRaisesRegex(TypeError, "takes f32"):
            self.model(np.zeros((2, 4)))

    def test_profile(self):
        self.assertGreater(len(self.model.context().profile(array(2, 4))), 0)

    def test_sequences_and_optionals(self):
        tensor = helper.make_tensor_type_proto(TensorProto.FLOAT, [None])
        sequence = helper.make_sequence_type_proto(tensor)
        graph = helper.make_graph(
            [helper.make_node("SequenceInsert", ["s", "x"], ["t"])],
            "test",
            [helper.make_value_info("s", sequence), helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])],
            [helper.make_value_info("t", sequence)],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        model = byoc.build(model, target="c").load()
        self.assertEqual([info.kind for info in model.inputs], ["st", "t"])
        items = [array(2), array(3)]
        results = model(items, array(1))
        self.assertEqual([len(item) for item in results], [2, 3, 1])
        np.testing.assert_array_equal(results[1], items[1])
        with self.assertRaisesRegex(TypeError, "is a sequence"):
            model(array(2), array(1))


if __name__ == "__main__":
    unittest.main()
