# SPDX-License-Identifier: Apache-2.0
"""byoc.build: from files and memory, to files and memory; what it says, and how it ends."""

import os
import signal
import stat
import subprocess
import sys
import threading
import time

import byoc
import numpy as np
from support import InFolder, in_child, linear, make, needs_onnx, onnx, unary

X = np.array([[1, -2, 3, 4], [0, 1, 0, -1]], np.float32)


@needs_onnx
class Build(InFolder):
    def test_version(self):
        self.assertEqual(byoc.version(), byoc.__version__)

    def test_library_beside_the_command(self):
        library = os.environ.get("BYOC_LIBRARY")
        if not library:
            self.skipTest("BYOC_LIBRARY does not say where libbyoc is")
        for folder in ("bin", "lib"):
            os.mkdir(self.path(folder))
        with open(self.path("bin/byoc"), "w") as file:
            file.write("#!/bin/sh\n")
        os.chmod(self.path("bin/byoc"), 0o755)
        os.symlink(os.path.realpath(library), self.path("lib/libbyoc.so.0"))
        environment = {key: value for key, value in os.environ.items() if key != "BYOC_LIBRARY"}
        environment["PATH"] = self.path("bin") + os.pathsep + os.environ["PATH"]
        code = "import byoc; byoc.version(); print(open('/proc/self/maps').read())"
        said = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
        self.assertIn(os.path.realpath(library), said.stdout, said.stderr)

    def test_file_to_file(self):
        with open(self.path("m.onnx"), "wb") as file:
            file.write(linear())
        built = byoc.build(self.path("m.onnx"), self.path("m.so"), target="c -O=1")
        self.assertEqual(built.path, self.path("m.so"))
        self.assertIsNone(built.artifact)
        self.assertTrue(os.path.exists(self.path("m.h")))
        self.assertEqual(built.plan["format"], "byoc plan")
        self.assertRegex(built.placement, "^c [12] operators?$")
        self.assertEqual(built.diagnostics, ())
        self.assertEqual(byoc.load(self.path("m.so"))(X).shape, (2, 3))

    def test_memory_to_memory(self):
        built = byoc.build(linear(), name="line", target=["c"])
        self.assertIn("line_run", built.header)
        expected = built.load()(X)
        built.save(self.path("line.so"))
        np.testing.assert_array_equal(byoc.load(self.path("line.so"))(X), expected)

    def test_model_proto(self):
        model = onnx.load_from_string(unary("Neg", onnx.TensorProto.FLOAT, (2, 4)))
        np.testing.assert_array_equal(byoc.build(model, target="c").load()(X), -X)

    def test_reading(self):
        """What breaks a rule is a warning among the diagnostics, or refused, or left out."""
        declared = make(
            [onnx.helper.make_node("NonZero", ["x"], ["y"])],
            [("x", onnx.TensorProto.FLOAT, [2, 4])],
            [("y", onnx.TensorProto.INT64, [3, 1])],
        )
        built = byoc.build(declared, target="c")
        self.assertIn("value 'y' is declared i64[3,1], but NonZero", built.diagnostics[0].message)
        self.assertEqual(built.load()(X).shape, (2, 6))
        with self.assertRaisesRegex(byoc.BuildError, "value 'y' is declared"):
            byoc.build(declared, target="c", strict=True)
        misspelt = make(
            [onnx.helper.make_node("LeakyRelu", ["x"], ["y"], alhpa=0.5)],
            [("x", onnx.TensorProto.FLOAT, [2, 4])],
            [("y", onnx.TensorProto.FLOAT, [2, 4])],
        )
        with self.assertRaisesRegex(byoc.BuildError, "'alhpa' is not known"):
            byoc.build(misspelt, target="c")
        self.assertIn("'alhpa', which is left out", byoc.build(misspelt, target="c", lenient=True).diagnostics[0].message)
        with self.assertRaises(ValueError):
            byoc.build(misspelt, strict=True, lenient=True)

    def test_inputs_with_a_value_in_the_model(self):
        model = make(
            [onnx.helper.make_node("Add", ["x", "w"], ["y"])],
            [("x", onnx.TensorProto.FLOAT, [2, 4]), ("w", onnx.TensorProto.FLOAT, [4])],
            [("y", onnx.TensorProto.FLOAT, [2, 4])],
            [onnx.helper.make_tensor("w", onnx.TensorProto.FLOAT, [4], [1, 2, 3, 4])],
        )
        run = byoc.build(model, target="c", optional_inputs=["w"]).load()
        np.testing.assert_array_equal(run(X), X + np.arange(1, 5))
        np.testing.assert_array_equal(run(X, w=np.full(4, 7, np.float32)), X + 7)
        self.assertEqual([one.name for one in byoc.build(model, target="c").load().inputs], ["x"])
        with self.assertRaisesRegex(byoc.BuildError, "no input 'q' with an initialiser"):
            byoc.build(model, target="c", optional_inputs=["q"])

    def test_an_output_keeps_the_name_of_an_input(self):
        model = make(
            [onnx.helper.make_node("Relu", ["x"], ["y"])],
            [("x", onnx.TensorProto.FLOAT, [2, 4])],
            [("y", onnx.TensorProto.FLOAT, [2, 4]), ("x", onnx.TensorProto.FLOAT, [2, 4])],
        )
        results = byoc.build(model, target="c").load().run(X)
        self.assertEqual(list(results), ["y", "x"])
        np.testing.assert_array_equal(results["x"], X)

    def test_size_price(self):
        with self.assertRaisesRegex(byoc.BuildError, "a percentage from 0 to 100, not '101.0'"):
            byoc.build(linear(), target="c", size_price=101)
        self.assertEqual(byoc.build(linear(), target="c", size_price=0.5).load()(X).shape, (2, 3))

    def test_entries(self):
        with open(self.path("neg.onnx"), "wb") as file:
            file.write(unary("Neg", onnx.TensorProto.FLOAT, (2, 4)))
        models = {"down": self.path("neg.onnx"), "size": unary("Abs", onnx.TensorProto.FLOAT, (2, 4))}
        built = byoc.build(models, self.path("both.so"), target="c")
        self.assertEqual(built.placements, ("c 1 operator", "c 1 operator"))
        self.assertEqual([plan["format"] for plan in built.plans], ["byoc plan"] * 2)
        self.assertEqual(built.load().entries, ["down", "size"])
        np.testing.assert_array_equal(built.load(entry="down")(X), -X)
        np.testing.assert_array_equal(byoc.load(self.path("both.so"), entry="size")(X), np.abs(X))
        np.testing.assert_array_equal(byoc.build(models).load(entry="size")(X), np.abs(X))
        with self.assertRaisesRegex(byoc.BuildError, "there are two entries 'Down'"):
            byoc.build({**models, "Down": models["size"]})
        with self.assertRaisesRegex(byoc.BuildError, "the entry 'size'"):
            byoc.build({**models, "size": b"not a model"})
        with self.assertRaisesRegex(ValueError, "there are no entries"):
            byoc.build({})

    def test_plans_for_threads(self):
        built = byoc.build(linear(), target="cutlass; c", plan="collage", cost="estimate", threads=[1, 2])
        self.assertIn("threads2", str(dict(built.plan)))
        self.assertEqual(built.load()(X).shape, (2, 3))
        with self.assertRaisesRegex(byoc.BuildError, "plan_threads takes up to 8 increasing numbers"):
            byoc.build(linear(), threads=[2, 1])

    def test_plan(self):
        plan = byoc.explain(linear(), target="c")
        self.assertEqual(plan["format"], "byoc plan")
        self.assertEqual((plan.targets, plan.counts()), (["c"], {"c": 2}))
        self.assertEqual([node.op for region in plan.regions for node in region.nodes], ["MatMul", "Relu"])
        self.assertEqual(plan.regions[0].nodes[0].type, "f32[2,3]")
        self.assertRegex(plan._repr_html_(), "(?s)<b>.*plan.*<td[^>]*>MatMul</td>")

    def test_texts_of_a_plan_are_escaped(self):
        node = {"op": "Relu", "name": "<script>", "type": "f32[2]"}
        plan = byoc.Plan(
            model="<b>",
            targets=["x -a=1", "c"],
            blocks=[{"name": "main", "nodes": [node, node], "regions": [{"target": 0, "rule": "x.r", "nodes": [1]}]}],
        )
        self.assertEqual([(region.target, region.rule) for region in plan.regions], [("c", ""), ("x", "x.r")])
        self.assertIn("&lt;script&gt;", plan._repr_html_())
        self.assertNotIn("<script>", plan._repr_html_())

    def test_profile(self):
        model = byoc.build(linear("rows"), target="c", profile=True).load()
        profile = model.profile(X, runs=3)
        self.assertEqual(profile.run_count, 3)
        self.assertGreater(profile.nanoseconds, 0)
        self.assertAlmostEqual(sum(step.share for step in profile.steps), 1)
        self.assertAlmostEqual(sum(total.nanoseconds for total in profile.totals()), profile.nanoseconds, delta=1)
        self.assertIn("c", {step.target for step in profile.steps})
        self.assertIn("3 runs", profile._repr_html_())
        with self.assertRaisesRegex(byoc.Error, "build it with profile=True"):
            byoc.build(linear(), target="c").load().profile(X)

    def test_variants(self):
        built = byoc.build(linear("rows"), dims={"rows": [1, 2]}, target="c")
        self.assertEqual({block["name"] for block in built.plan["blocks"] if "rows=" in block["name"]} != set(), True)
        self.assertEqual(built.load()(X).shape, (2, 3))
        self.assertEqual(built.load()(np.ones((5, 4), np.float32)).shape, (5, 3))

    def test_errors(self):
        with self.assertRaises(byoc.BuildError) as caught:
            byoc.build(linear(), target="cutlas")
        self.assertIn("cutlas", str(caught.exception))
        self.assertIn("cutlass", caught.exception.diagnostics[-1].hint)
        self.assertEqual(caught.exception.diagnostics[-1].severity, "error")
        with self.assertRaisesRegex(byoc.BuildError, "nowhere.onnx"):
            byoc.build("nowhere.onnx")
        with self.assertRaisesRegex(byoc.BuildError, "nowhere.so"):
            byoc.build(linear(), plugins=["nowhere.so"])
        with self.assertRaises(byoc.BuildError):
            byoc.build(b"damage")
        node = onnx.helper.make_node("Foo", ["x"], ["y"], domain="com.example")
        model = make([node], [("x", 1, [2])], [("y", 1, [2])])
        with self.assertRaisesRegex(byoc.BuildError, "Foo"):
            byoc.build(model)

    def test_what_is_no_model(self):
        for wrong in (5, 2.5, None, [1, 2], object()):
            with self.assertRaisesRegex(TypeError, "a model is a path, the bytes of an ONNX model, .*, not of type"):
                byoc.build(wrong)
        self.assertEqual(byoc.build(bytearray(linear()), target="c").load()(X).shape, (2, 3))
        self.assertEqual(byoc.build(memoryview(linear()), target="c").load()(X).shape, (2, 3))

    def test_integers_of_numpy(self):
        built = byoc.build(linear("rows"), target="c", dims={"rows": np.int64(2)}, threads=np.int32(1), queues=np.uint8(1))
        self.assertEqual(built.load().inputs[0].shape, (2, 4))
        built = byoc.build(linear("rows"), dims={"rows": np.array([1, 2])}, target="c")
        self.assertEqual(built.load()(X).shape, (2, 3))
        for options, name in (
            ({"dims": {"rows": 3.0}}, "the size of the dimension 'rows' is an integer, not of type float"),
            ({"dims": {"rows": "3"}}, "the size of the dimension 'rows' is an integer, not of type str"),
            ({"threads": "2"}, "the number of threads is an integer, not of type str"),
            ({"threads": [1, 2.0]}, "the number of threads is an integer, not of type float"),
            ({"queues": None}, "the number of queues is an integer, not of type NoneType"),
        ):
            with self.assertRaisesRegex(TypeError, name):
                byoc.build(linear("rows"), **options)
        for options, name in (
            ({"dims": {"rows": 2**63}}, "the size of the dimension 'rows' is 9223372036854775808, and not between"),
            ({"threads": 2**32}, "the number of threads is 4294967296, and not between"),
            ({"queues": -1}, "the number of queues is -1, and not between"),
        ):
            with self.assertRaisesRegex(ValueError, name):
                byoc.build(linear("rows"), **options)

    def test_texts_are_not_cut(self):
        for options, name in (
            ({"target": "c\0 -O=1"}, "a target has a NUL character"),
            ({"target": ["c", "c\0"]}, "a target has a NUL character"),
            ({"output": self.path("m.so\0")}, "output has a NUL character"),
            ({"dims": {"rows\0": 1}}, "the name of a dimension has a NUL character"),
            ({"alias": {"y": "x\0"}}, "a name in alias has a NUL character"),
            ({"weights": "external\0"}, "weights has a NUL character"),
            ({"plugins": ["a\0"]}, "a path in plugins has a NUL character"),
        ):
            with self.assertRaisesRegex(ValueError, name):
                byoc.build(linear("rows"), **options)
        with self.assertRaisesRegex(ValueError, "the path of a model has a NUL character"):
            byoc.build("m.onnx\0")
        for wrong in (3, [3]):
            with self.assertRaisesRegex(TypeError, "a target is a text, not of type int"):
                byoc.build(linear(), target=wrong)

    def test_saving_leaves_nothing_half_made(self):
        built = byoc.build(linear(), target="c")
        os.mkdir(self.path("folder"))
        with self.assertRaises(OSError):
            built.save(self.path("folder"))
        with self.assertRaises(FileNotFoundError):
            built.save(self.path("nowhere/m.so"))
        self.assertEqual(os.listdir(self.folder), ["folder"])

    def test_notes(self):
        built = byoc.build(linear(), target="c", verbose=True)
        self.assertTrue(any(said.message.startswith("placed c") for said in built.diagnostics))

    def test_progress(self):
        steps = []
        byoc.build(linear(), target="c", progress=lambda at: steps.append(at.step))
        self.assertEqual(steps, ["read", "simplify", "place", "generate", "lower", "compose"])
        with self.assertRaises(byoc.BuildError) as caught:
            byoc.build(linear(), target="c", progress=lambda at: at.step != "lower")
        self.assertTrue(caught.exception.cancelled)

        def fail(at):
            raise KeyError(at.step)

        with self.assertRaisesRegex(KeyError, "read"):
            byoc.build(linear(), target="c", progress=fail)

    def test_forks_during_a_build(self):
        """A child cannot have the locks that a building thread holds: it is told so, and its parent goes on."""
        slow = self.path("slow-cc")
        with open(slow, "w") as file:
            file.write(
                f'#!/bin/sh\ncase " $* " in *" -c "*) echo > {self.path("started")}; '
                f'while [ ! -e {self.path("go")} ]; do sleep 0.01; done ;; esac\nexec cc "$@"\n'
            )
        os.chmod(slow, stat.S_IRWXU)
        built = []
        model = unary("Neg", onnx.TensorProto.DOUBLE, (5, 5))
        thread = threading.Thread(target=lambda: built.append(byoc.build(model, target=f"c -cc={slow}")))
        thread.start()
        try:
            while thread.is_alive() and not os.path.exists(self.path("started")):
                time.sleep(0.01)
            self.assertIn("was building, and cannot build: fork before", in_child(lambda: byoc.build(model, target="c")))
        finally:
            open(self.path("go"), "w").close()
            thread.join()
        x = np.ones((5, 5))
        np.testing.assert_array_equal(built[0].load()(x), -x)
        self.assertEqual(in_child(lambda: byoc.build(model, target="c")), "")

    def test_interrupt(self):
        """Ctrl-C ends a C compiler that would take a minute."""
        slow = self.path("slow-cc")
        with open(slow, "w") as file:
            file.write(
                f'#!/bin/sh\ncase " $* " in *" -c "*) echo > {self.path("started")}; exec sleep 60 ;; esac\nexec cc "$@"\n'
            )
        os.chmod(slow, stat.S_IRWXU)

        def interrupt():
            for _ in range(600):
                if os.path.exists(self.path("started")):
                    break
                time.sleep(0.05)
            os.kill(os.getpid(), signal.SIGINT)

        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        threading.Thread(target=interrupt).start()
        start = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            byoc.build(unary("Neg", onnx.TensorProto.DOUBLE, (7, 7)), target=f"c -cc={slow}")
        self.assertLess(time.monotonic() - start, 45)
