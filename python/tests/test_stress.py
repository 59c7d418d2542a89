# SPDX-License-Identifier: Apache-2.0
"""Ownership, threads, forks and signals. tests/python runs these with debugging allocators and sanitizers, too."""

import copy
import gc
import multiprocessing
import os
import pickle
import signal
import tempfile
import threading
import unittest
import weakref

import byoc
import numpy as np
from support import IS_SANITIZED, Collecting, InFolder, artifact, gather, in_child, linear, matmul, needs_onnx, nonzero

X = np.arange(8, dtype=np.float32).reshape(2, 4)


def in_threads(count, function):
    """Calls function(i) in so many threads; returns what they raised."""
    raised = []

    def work(i):
        try:
            function(i)
        except BaseException as failure:
            raised.append(failure)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised


def is_mapped(path):
    with open("/proc/self/maps") as file:
        return path in file.read()


class Circle:
    """An object with a reference back to itself: only the collector frees it, at any time."""

    def __init__(self, what):
        self.what, self.me = what, self


@needs_onnx
class Lifetime(Collecting):
    def test_models_are_freed_by_the_last_reference(self):
        gc.disable()
        self.addCleanup(gc.enable)
        path = os.path.realpath(artifact(linear))
        model = byoc.load(path)
        model(X)
        model.profile  # an attribute, no call
        seen = weakref.ref(model)
        del model
        self.assertIsNone(seen())
        self.assertFalse(is_mapped(path))

    def test_contexts_of_other_threads_go_with_the_model(self):
        path = os.path.realpath(artifact(linear))
        models, ran, ended = [byoc.load(path)], threading.Event(), threading.Event()

        def work(_):
            models[0](X)
            ran.set()
            ended.wait()

        thread = threading.Thread(target=work, args=(0,))
        thread.start()
        ran.wait()
        models.clear()
        self.assertFalse(is_mapped(path))
        ended.set()
        thread.join()

    def test_a_context_keeps_its_model(self):
        path = os.path.realpath(artifact(linear))
        context = byoc.load(path).context(threads=2)
        expected = context.run(X)["y"]
        self.assertTrue(is_mapped(path))
        np.testing.assert_array_equal(context.run(X)["y"], expected)
        del context
        self.assertFalse(is_mapped(path))

    def test_the_collector_frees_models_during_loads(self):
        path = artifact(linear)
        for i in range(60):
            Circle(byoc.load(path)).what(X)
            Circle(byoc.load(path).context(threads=1 + i % 2)).what.run(X)

    def test_finalizers_use_the_package(self):
        """What a program does when the collector comes, in the midst of a load, a run or the making of a context."""
        path = artifact(linear)
        model = byoc.load(path)
        expected, results = model(X), []
        context = model.context()

        class Handler(Circle):
            def __del__(self):
                results.append(byoc.load(path)(X))
                results.append(model(X))
                try:
                    results.append(context.run(X)["y"])
                except byoc.Error:  # it is running
                    pass

        for _ in range(30):
            Handler(None)
            byoc.load(path)
            context.run(X)
            model.context()
        gc.collect()
        self.assertGreaterEqual(len(results), 60)
        for result in results:
            np.testing.assert_array_equal(result, expected)

    def test_copies(self):
        model = byoc.load(artifact(matmul))
        a, b = np.ones((3, 2), np.float32), np.ones((2, 5), np.float32)
        context = model.context(threads=1)
        first = context.run(a, b)["y"]
        copies = [copy.copy(context), copy.deepcopy(context), copy.deepcopy({"c": [context]})["c"][0]]
        del context
        gc.collect()
        for one in copies:
            self.assertIs(one.model, model)
            np.testing.assert_array_equal(one.run(a, b)["y"], first)
        self.assertIs(copy.copy(model), model)
        self.assertIs(copy.deepcopy([model])[0], model)
        with self.assertRaisesRegex(TypeError, "a model cannot be pickled: send the path"):
            pickle.dumps(model)
        with self.assertRaisesRegex(TypeError, "a context cannot be pickled: make another one"):
            pickle.dumps(copies[0])

    def test_errors_can_be_sent(self):
        for error in (byoc.Error("what", 5), byoc.BuildError("what", 12, ())):
            again = pickle.loads(pickle.dumps(error))
            self.assertEqual((type(again), str(again), again.status), (type(error), "what", error.status))

    def test_results_outlive_everything(self):
        results = byoc.load(artifact(matmul)).run(np.ones((2, 3), np.float32), np.ones((3, 4), np.float32))
        gc.collect()
        np.testing.assert_array_equal(results["y"], np.full((2, 4), 3, np.float32))

    def test_outputs_whose_shapes_only_the_run_knows(self):
        model = byoc.load(artifact(nonzero))
        for count in (0, 1, 7, 1000, 3):
            x = np.arange(count, dtype=np.float32) % 3
            np.testing.assert_array_equal(model(x), np.array(np.nonzero(x)))
            memory = np.zeros((1, max(count, 1)), np.int64)
            np.testing.assert_array_equal(model.run(x, outputs={"y": memory})["y"], np.array(np.nonzero(x)))


@needs_onnx
class Texts(Collecting):
    def test_texts_of_inputs_reach_results(self):
        model = byoc.load(artifact(gather))
        for count in (1, 2, 10, 300):
            words = [f"word {count} {i} ü€😀" * (i % 3) for i in range(count)]
            numbers = np.arange(count)[::-1].copy()
            y, z = model(np.array(words, object), numbers)
            self.assertEqual((list(y), list(z)), (words[::-1], words))
            results = model.run(list(words), numbers)
            gc.collect()
            self.assertEqual(list(results["z"]), words)


@needs_onnx
class Threads(Collecting):
    def test_one_context_in_several_threads(self):
        """A run gives the right result, or is refused."""
        context = byoc.load(artifact(matmul)).context(threads=1)
        right, refused = [], []

        def work(i):
            size = 64 + 32 * i
            a, b = np.ones((size, size), np.float32), np.full((size, size), i + 1, np.float32)
            for _ in range(30):
                try:
                    y = context.run(a, b)["y"]
                except byoc.Error as error:
                    refused.append(error)
                    continue
                np.testing.assert_array_equal(y, np.full((size, size), size * (i + 1), np.float32))
                right.append(i)

        self.assertEqual(in_threads(4, work), [])
        self.assertEqual(len(right) + len(refused), 120)
        for error in refused:
            self.assertRegex(str(error), "the context is in use by another run: give each thread a context of its own")
            self.assertEqual(error.status, 1)

    def test_a_run_inside_a_run(self):
        """An input runs the model, and then the context, that are about to read it."""
        model = byoc.load(artifact(matmul))
        context = model.context()
        a = np.ones((2, 2), np.float32)
        inner = []

        class Lazy:
            def __dlpack_device__(self):
                return (1, 0)

            def __dlpack__(self, **options):
                inner.append(model(a, a))
                return inner[-1].__dlpack__(**options)

        np.testing.assert_array_equal(model(Lazy(), a), np.full((2, 2), 4, np.float32))

        class Wrong(Lazy):
            def __dlpack__(self, **options):
                return context.run(a, a)["y"].__dlpack__(**options)

        with self.assertRaisesRegex(byoc.Error, "in use by another run"):
            context.run(Wrong(), a)
        np.testing.assert_array_equal(context.run(a, a)["y"], inner[0])

    def test_models_come_and_go_in_threads(self):
        paths = [artifact(linear), artifact(matmul)]
        shared = byoc.load(paths[1])

        def work(i):
            for _ in range(8):
                model = byoc.load(paths[i % 2])
                a = np.full((2, 2), i, np.float32)
                np.testing.assert_array_equal(shared(a, a), a @ a)
                if i % 2:
                    np.testing.assert_array_equal(model(a, a), a @ a)
                else:
                    self.assertEqual(Circle(model).what(X).shape, (2, 3))

        self.assertEqual(in_threads(4, work), [])

    def test_interrupted_runs(self):
        """Ctrl-C ends a run of open shapes when C has returned; the context goes on."""
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        context = byoc.load(artifact(matmul)).context(threads=1)
        large = np.ones((300, 300), np.float32)
        for _ in range(5):
            timer = threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGINT))
            with self.assertRaises(KeyboardInterrupt):
                timer.start()
                while True:
                    context.run(large, large)
            timer.join()
        self.assertEqual(context.run(large, large)["y"][0, 0], 300)


@needs_onnx
class Forks(Collecting, InFolder):
    def setUp(self):
        InFolder.setUp(self)
        Collecting.setUp(self)

    def check(self, function):
        self.assertEqual(in_child(function), "")

    def test_children_use_what_they_inherit(self):
        model = byoc.load(artifact(matmul))
        context = model.context(threads=2)
        a = np.ones((40, 40), np.float32)
        model(a, a)

        def child():
            for _ in range(3):
                np.testing.assert_array_equal(model(a, a), a @ a)
                np.testing.assert_array_equal(context.run(a, a)["y"], a @ a)
            self.assertEqual(in_threads(3, lambda i: np.testing.assert_array_equal(model(a, a), a @ a)), [])
            self.assertEqual(in_child(lambda: np.testing.assert_array_equal(context.run(a, a)["y"], a @ a)), "")

        self.check(child)
        np.testing.assert_array_equal(context.run(a, a)["y"], a @ a)

    def test_children_free_what_they_inherit(self):
        path = artifact(matmul)
        kept = [byoc.load(path)]
        a = np.ones((4, 4), np.float32)
        kept.append(kept[0].context(threads=2))
        kept[1].run(a, a)

        def child():
            kept.clear()
            gc.collect()
            other = byoc.load(path)
            np.testing.assert_array_equal(other(a, a), a @ a)
            del other
            gc.collect()

        self.check(child)
        np.testing.assert_array_equal(kept[1].run(a, a)["y"], a @ a)

    # gcc 12's libasan does not keep its allocator's locks out of children: one that a thread holds stays locked there.
    @unittest.skipIf(IS_SANITIZED, "a child of a process with threads may hang in libasan's allocator")
    def test_children_while_threads_load_and_run(self):
        """A lock that a thread holds during a fork would be held in the child for ever."""
        path, other = artifact(linear), artifact(matmul)
        a = np.ones((30, 30), np.float32)
        model = byoc.load(other)
        ended = threading.Event()
        context = model.context(threads=2)

        def work(i):
            while not ended.is_set():
                if i == 0:
                    byoc.load(path)(X)
                elif i == 1:
                    model.context(threads=2).run(a, a)
                else:
                    context.run(a, a)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
        for thread in threads:
            thread.start()
        try:

            def child():
                self.assertEqual(byoc.load(path)(X).shape, (2, 3))
                np.testing.assert_array_equal(context.run(a, a)["y"], a @ a)
                np.testing.assert_array_equal(model(a, a), a @ a)

            for _ in range(15):
                self.check(child)
        finally:
            ended.set()
            for thread in threads:
                thread.join()

    def test_a_finalizer_forks(self):
        path = artifact(linear)
        said = []

        class Forking(Circle):
            def __del__(self):
                said.append(in_child(lambda: byoc.load(path)(X)))

        for _ in range(5):
            Forking(None)
            byoc.load(path)(X)
        gc.collect()
        self.assertEqual(said, [""] * 5)

    def test_temporary_files_belong_to_their_process(self):
        if "fork" not in multiprocessing.get_all_start_methods():
            self.skipTest("there are no forks here")
        with open(artifact(linear), "rb") as file:
            content = file.read()
        before, tempfile.tempdir = tempfile.tempdir, self.folder
        self.addCleanup(setattr, tempfile, "tempdir", before)
        built = byoc.Build(None, content, "", byoc.Plan({}), "", ())
        models = [built.load()]
        self.assertEqual(len(os.listdir(self.folder)), 1)
        child = os.fork()
        if child == 0:
            models.clear()
            os._exit(len(os.listdir(self.folder)))
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 1)
        models[0](X)
        models.clear()
        self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    unittest.main()
