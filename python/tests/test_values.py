# SPDX-License-Identifier: Apache-2.0
"""What callers give as inputs and outputs: texts, tensors of other libraries, read-only memory, numbers, wrong things."""

import gc
import unittest
import warnings

import byoc
import numpy as np
from support import (
    IS_SANITIZED,
    Collecting,
    artifact,
    complement,
    four_texts,
    linear,
    matmul,
    needs_onnx,
    negative,
    opposite,
    texts,
)

try:
    if IS_SANITIZED:
        raise ImportError("its libraries are not made for sanitizers")
    import jax

    jax.config.update("jax_platforms", "cpu")
except ImportError:
    jax = None
try:
    if IS_SANITIZED:
        raise ImportError("its libraries are not made for sanitizers")
    import torch
except ImportError:
    torch = None

HAS_VERSIONS = tuple(int(part) for part in np.__version__.split(".")[:2]) >= (2, 1)  # of DLPack


class Lender:
    """A tensor of another library, which speaks some DLPack."""

    def __init__(self, array, **forced):
        self.array, self.forced = array, forced

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Old(Lender):
    """From before DLPack 1.0."""

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()


class Silent(Lender):
    """Knows of DLPack 1.0 and does not use it, as jax: nobody hears whether it may be written to."""

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        return self.array.__dlpack__()


class New(Lender):
    def __dlpack__(self, **options):
        return self.array.__dlpack__(**{**options, **self.forced})


class Elsewhere(New):
    def __dlpack_device__(self):
        return (2, 0)


class Temporary(Lender):
    """Makes its tensor when it is asked for, and does not keep it."""

    def __dlpack__(self, **options):
        return np.array(self.array).__dlpack__(**options)


@needs_onnx
class Texts(Collecting):
    @classmethod
    def setUpClass(cls):
        cls.models = [byoc.load(artifact(texts)), byoc.load(artifact(four_texts))]

    def test_whatever_unicode_holds(self):
        words = ["", "a", "ü€😀", "\\0 is two letters here"]
        for model in self.models:
            for given in (words, tuple(words), np.array(words), np.array(words, object), [w.encode() for w in words]):
                y = model(given)
                self.assertEqual((y.dtype, list(y)), (np.dtype(object), words))
                self.assertEqual({type(word) for word in y}, {str})
            self.assertEqual(list(model(np.array([b"a", b"b", b"c", b"dd"]))), ["a", "b", "c", "dd"])

    def test_what_is_no_text(self):
        for model in self.models:
            for wrong, name in (
                (1, "int"),
                (True, "bool"),
                (np.int64(65), "int64"),
                (1.5, "float"),
                (None, "NoneType"),
            ):
                with self.assertRaisesRegex(TypeError, f"'x' takes texts, and its element 1 is of type {name}"):
                    model(np.array(["a", wrong, "c", "d"], object))
            with self.assertRaisesRegex(TypeError, "'x' takes texts, and its element 0 is of type int"):
                model(np.arange(4))

    def test_what_texts_cannot_hold(self):
        for model in self.models:
            for wrong in ("a\0b", "\0", b"ab\0", np.str_("a\0b")):
                with self.assertRaisesRegex(
                    ValueError, "'x' takes texts without NUL characters, and its element 2 has"
                ):
                    model(np.array(["a", "b", wrong, "d"], object))
            for wrong in ("\ud800", b"\xff\xfe", b"\xc3"):
                with self.assertRaisesRegex(ValueError, "'x' takes texts in UTF-8, which its element 3 is not"):
                    model(np.array(["a", "b", "c", wrong], object))

    def test_shapes(self):
        self.assertEqual(self.models[0]([]).shape, (0,))
        with self.assertRaisesRegex(ValueError, r"shape \[4\], not \[2, 2\]"):
            self.models[1]([["a", "b"], ["c", "d"]])
        with self.assertRaisesRegex(TypeError, "'y' is string, which cannot be written into memory of the caller"):
            self.models[1].run(["a"] * 4, outputs={"y": np.empty(4, object)})


@needs_onnx
class Memory(Collecting):
    """Who may write where."""

    @classmethod
    def setUpClass(cls):
        cls.negative, cls.matmul = byoc.load(artifact(negative)), byoc.load(artifact(matmul))

    def setUp(self):
        super().setUp()
        self.x = np.arange(4, dtype=np.float32)

    def written_by(self, make):
        """Both kinds of runs, into what make() makes; returns how often it was refused."""
        refused = 0
        a = np.full((2, 2), 3, np.float32)
        for model, inputs, right in ((self.negative, (self.x,), -self.x), (self.matmul, (a, a), a @ a)):
            memory = np.zeros(right.shape, np.float32)
            given = make(memory)
            try:
                self.assertIs(model.run(*inputs, outputs={"y": given})["y"], given)
            except TypeError as error:
                self.assertRegex(
                    str(error), "output 'y' cannot be written to: .*(read-only|lends a copy|may be changed)"
                )
                np.testing.assert_array_equal(memory, np.zeros_like(memory))
                refused += 1
            else:
                np.testing.assert_array_equal(memory, right)
        return refused

    def read_only(self, array):
        array.flags.writeable = False
        return array

    def test_outputs_of_numpy(self):
        self.assertEqual(self.written_by(lambda memory: memory), 0)
        self.assertEqual(self.written_by(self.read_only), 2)
        for wrong in (np.broadcast_to(np.float32(0), (4,)), np.zeros(8, np.float32)[::2], np.zeros(4, ">f4")):
            with self.assertRaises(TypeError):
                self.negative.run(self.x, outputs={"y": wrong})
        for wrong in (b"1234" * 4, [0.0] * 4, 5, None):
            with self.assertRaisesRegex(TypeError, "needs a dense array"):
                self.negative.run(self.x, outputs={"y": wrong})

    def test_outputs_by_dlpack(self):
        self.assertEqual(self.written_by(Old), 0)
        self.assertEqual(self.written_by(Silent), 2)
        self.assertEqual(self.written_by(New), 0)

    @unittest.skipUnless(HAS_VERSIONS, "this numpy knows no versions of DLPack")
    def test_memory_that_is_larger(self):
        a = np.ones((2, 2), np.float32)
        for given in (np.zeros((3, 2), np.float32), New(np.zeros(5, np.float32))):
            y = self.matmul.run(a, a, outputs={"y": given})["y"]
            np.testing.assert_array_equal(y, a @ a)
            self.assertTrue(np.shares_memory(y, getattr(given, "array", given)))

    @unittest.skipUnless(HAS_VERSIONS, "this numpy knows no versions of DLPack")
    def test_what_dlpack_1_says(self):
        self.assertEqual(self.written_by(lambda memory: New(self.read_only(memory))), 2)
        self.assertEqual(self.written_by(lambda memory: New(memory, copy=True)), 2)
        x = self.read_only(self.x.copy())
        for given in (New(x), New(x, copy=True), New(self.x, copy=True)):
            np.testing.assert_array_equal(self.negative(given), -self.x)

    def test_inputs_are_not_written(self):
        x = self.read_only(self.x.copy())
        a = self.read_only(np.ones((2, 2), np.float32))
        for _ in range(5):
            np.testing.assert_array_equal(self.negative(x), -self.x)
            np.testing.assert_array_equal(self.matmul(a, a), a @ a)
        self.assertEqual(x.tolist(), [0, 1, 2, 3])

    def test_memory_lives_as_long_as_a_run(self):
        for _ in range(50):
            np.testing.assert_array_equal(self.negative(Temporary(self.x)), -self.x)
            self.negative.run(self.x, outputs={"y": Temporary(self.x)})
            a = np.ones((3, 3), np.float32)
            np.testing.assert_array_equal(self.matmul(Temporary(a), np.ones((3, 3), np.float32)), a @ a)

    def test_layouts(self):
        base = np.arange(16, dtype=np.float32)
        for x in (base[::4], base[3::-1], np.broadcast_to(np.float32(2), (4,)), base[1:5]):
            for given in (x, New(x)) if HAS_VERSIONS else (x,):
                np.testing.assert_array_equal(self.negative(given), -x)
        shifted = np.frombuffer(b"\0" + self.x.tobytes(), np.uint8)[1:].view(np.float32)
        np.testing.assert_array_equal(self.negative(shifted), -self.x)
        empty = np.zeros((0, 3), np.float32)
        self.assertEqual(self.matmul(empty, New(np.zeros((3, 2), np.float32))).shape, (0, 2))
        np.testing.assert_array_equal(self.matmul(empty.T, empty), np.zeros((3, 3)))

    def test_what_is_no_tensor_of_the_processor(self):
        with self.assertRaisesRegex(TypeError, "input 'x' is on a device"):
            self.negative(Elsewhere(self.x))
        with self.assertRaisesRegex(TypeError, "not DLPack's type 2 of 64 bits"):
            self.negative(New(self.x.astype(np.float64)))
        with self.assertRaisesRegex(TypeError, "has a mask"):
            self.negative(np.ma.array(self.x, mask=[0, 1, 0, 0]))
        np.testing.assert_array_equal(self.negative(np.ma.array(self.x)), -self.x)

    def test_bytes_as_booleans(self):
        model = byoc.load(artifact(opposite))
        self.assertEqual(model(New(np.array([0, 1, 1, 0], np.uint8))).tolist(), [True, False, False, True])
        with self.assertRaisesRegex(ValueError, "input 'x' takes bool: each of its bytes is 0 or 1"):
            model(New(np.array([0, 1, 2, 0], np.uint8)))

    @unittest.skipIf(jax is None, "there is no jax")
    def test_arrays_of_jax_do_not_change(self):
        x = jax.numpy.arange(4, dtype=jax.numpy.float32)
        zeros = jax.numpy.zeros(4, jax.numpy.float32)
        np.testing.assert_array_equal(self.negative(x), -self.x)
        with self.assertRaisesRegex(TypeError, "output 'y' cannot be written to"):
            self.negative.run(x, outputs={"y": zeros})
        self.assertEqual(zeros.tolist(), [0] * 4)

    @unittest.skipIf(torch is None, "there is no torch")
    def test_tensors_of_torch(self):
        y = torch.zeros(4)
        self.assertIs(self.negative.run(torch.from_numpy(self.x), outputs={"y": y})["y"], y)
        np.testing.assert_array_equal(y.numpy(), -self.x)
        np.testing.assert_array_equal(self.negative(torch.arange(8.0)[::2]), [0, -2, -4, -6])


@needs_onnx
class Numbers(Collecting):
    def test_lists_take_the_type_that_holds_them(self):
        whole = byoc.load(artifact(complement))
        self.assertEqual(whole([0, 1, 254, 255]).tolist(), [255, 254, 1, 0])
        self.assertEqual(byoc.load(artifact(negative))([1, 2.5, True, -3]).tolist(), [-1, -2.5, -1, 3])
        self.assertEqual(byoc.load(artifact(opposite))([True, False, 1, 0]).tolist(), [False, True, False, True])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for wrong in ([0, 1, 256, 0], [-1, 0, 0, 0], [1.5, 0, 0, 0], [0.0] * 4, [0j] * 4, ["1"] * 4, [None] * 4):
                with self.assertRaisesRegex(TypeError, "input 'x' takes u8"):
                    whole(wrong)
            for wrong in ([2, 0, 0, 0], [1.0] * 4):
                with self.assertRaisesRegex(TypeError, "input 'x' takes bool"):
                    byoc.load(artifact(opposite))(wrong)
            for wrong in (None, "1", ["1"] * 4, [1j] * 4, [None] * 4):
                with self.assertRaisesRegex(TypeError, "input 'x' takes f32"):
                    byoc.load(artifact(negative))(wrong)

    def test_options_of_contexts(self):
        model = byoc.load(artifact(linear))
        x = np.ones((2, 4), np.float32)
        for threads in (np.int64(1), np.uint8(2), 0):
            self.assertEqual(model.context(threads=threads).run(x)["y"].shape, (2, 3))
        self.assertEqual(model.context(max_iterations=np.int32(5)).run(x)["y"].shape, (2, 3))
        for wrong in (-1, 2**31, 2**33, np.int64(-1)):
            with self.assertRaisesRegex(ValueError, "the number of threads is .*, and not between 0 and"):
                model.context(threads=wrong)
        with self.assertRaisesRegex(byoc.Error, "the thread count 100000 is not between"):
            model.context(threads=100000)
        with self.assertRaisesRegex(ValueError, "the number of iterations is -1"):
            model.context(max_iterations=-1)
        for wrong in ("2", 2.0, None, [2]):
            with self.assertRaisesRegex(TypeError, "the number of threads is an integer, not of type"):
                model.context(threads=wrong)
        gc.collect()

    def test_paths(self):
        with self.assertRaisesRegex(ValueError, "the path of an artifact has a NUL character"):
            byoc.load(artifact(linear) + "\0")
        with self.assertRaisesRegex(TypeError, "the path of an artifact is a text, not of type int"):
            byoc.load(5)


if __name__ == "__main__":
    unittest.main()
