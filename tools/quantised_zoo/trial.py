# SPDX-License-Identifier: Apache-2.0
"""Tries one model: makes it, gets the reference, builds it in each configuration, and compares."""
import shutil

import numpy
import onnx

from . import artifact, canonical
from .cut import Cut
from .reference import Reference, difference

FIXED, SIZES, AMPLITUDES = 2, (1, 5, 2), (1.0, 4.0, 0.0)


class Configuration:
    """A way of building. `open`: the batch stays open, and runs have several sizes."""

    def __init__(self, name, words, open=False, source=False, cut=False):
        self.name, self.words, self.open, self.source, self.cut = name, words, open, source, cut


def configurations(targets, cost_budget):
    found = []
    for target in targets:
        words = ["-t", target, "--plan", "greedy"]
        found += [Configuration(target, words), Configuration(f"{target}, open", words, open=True),
                  Configuration(f"{target}, cut", words, cut=True)]
    measured = ["-t", targets[-1], "--plan", "collage", "--cost-budget", str(cost_budget)]
    found += [Configuration("measured", measured), Configuration("measured, open", measured, open=True)]
    return [*found, Configuration("C source", ["-t", "c"], source=True)]


class Trial:
    def __init__(self, arguments, model):
        self.byoc, self.model = arguments.programs / "byoc", model
        self.folder = arguments.output / "models" / model.name
        self.path = self.folder / "model.onnx"
        self.wanted = [c for c in configurations(arguments.targets, arguments.cost_budget)
                       if not arguments.configurations or c.name in arguments.configurations]

    def run(self):
        """Returns a row of the table: plain values for JSON."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        row = {"model": self.model.name, "results": {}, "floats": [], "differs_on": [], "no_case": None}
        try:
            self.model.write(self.path)
            self.source = onnx.load(str(self.path))
            self.make_references()
        except Exception as error:  # whatever the quantiser or ONNX Runtime throw: the next model follows
            first = (str(error).strip().splitlines() or [""])[0]
            row["no_case"] = f"{type(error).__name__}: {first[:200]}"
            return row
        row["bytes"] = self.path.stat().st_size
        row["default_differs"] = self.default_differs()
        self.look(row)
        for configuration in self.wanted:
            outcome = self.attempt(configuration)
            if outcome is not None:
                row["results"][configuration.name] = outcome
        return row

    def make_references(self):
        random = numpy.random.default_rng(1)
        fixed = [self.model.inputs(random, FIXED, amplitude) for amplitude in AMPLITUDES]
        opened = [self.model.inputs(random, size, amplitude) for size, amplitude in zip(SIZES, AMPLITUDES)]
        self.references = {False: Reference(self.source, fixed), True: Reference(self.source, opened)}
        self.cut = Cut(self.source, fixed[0])
        for is_open, reference in self.references.items():
            for i, inputs in enumerate(reference.inputs):
                numpy.savez(self.inputs_path(is_open, i), **inputs)
                for name, value in reference.plain[i].items():
                    numpy.save(self.expected_path(is_open, i, name), value)
        if self.cut.expected:
            onnx.save(self.cut.model, str(self.folder / "cut.onnx"))
            numpy.savez(self.folder / "cut_inputs.npz", **self.cut.inputs)
            (self.folder / "cut_expected").mkdir()
            for name, value in self.cut.expected.items():
                numpy.save(self.folder / "cut_expected" / f"{artifact.file_name(name)}.npy", value)

    def inputs_path(self, is_open, index):
        return self.folder / f"{'open' if is_open else 'fixed'}_{index}.npz"

    def expected_path(self, is_open, index, name):
        return self.folder / f"{'open' if is_open else 'fixed'}_{index}_{artifact.file_name(name)}.npy"

    def default_differs(self):
        """How far ONNX Runtime's two runs are apart, in steps of the result, or relative to its largest element. None if
        it refuses to run with optimisations."""
        reference = self.references[False]
        if reference.default is None:
            return None
        return max(self.relative(reference, name, difference(reference.default[i][name], plain[name]))
                   for i, plain in enumerate(reference.plain) for name in reference.names)

    def relative(self, reference, name, gap):
        step = reference.steps[name] or max(float(numpy.abs(plain[name]).max(initial=0)) for plain in reference.plain)
        return gap / step if step else gap

    def look(self, row):
        try:
            text = canonical.graph(self.byoc, self.path)
            row["floats"] = [[kind, reason, names] for (kind, reason), names in
                             canonical.in_floats(text, self.source).items()]
            row["differs_on"] = canonical.differing(self.byoc, self.path)
        except artifact.Failure as failure:
            row["results"]["graph"] = failed(failure)

    def attempt(self, configuration):
        if configuration.cut and not self.cut.expected:
            return None
        try:
            return self.try_cut(configuration) if configuration.cut else self.try_whole(configuration)
        except artifact.Failure as failure:
            return failed(failure)

    def build(self, configuration, model):
        kept = "".join(c if c.isalnum() else "_" for c in configuration.name)
        words = [*configuration.words, *([] if configuration.open else ["--dim", f"batch={FIXED}"])]
        make = artifact.build_source if configuration.source else artifact.build
        return make(self.byoc, model, self.folder / f"{kept}.so", words)

    def try_whole(self, configuration):
        built = self.build(configuration, self.path)
        reference = self.references[configuration.open]
        worst = 0.0
        for i, plain in enumerate(reference.plain):
            inputs = self.inputs_path(configuration.open, i)
            results = built.run(inputs)
            for name, expected in plain.items():
                result = results.get(artifact.file_name(name))
                if configuration.source and result is not None and result.size == expected.size:
                    result = result.reshape(expected.shape)
                gap = difference(result, expected) if result is not None else float("inf")
                relative = self.relative(reference, name, gap)
                worst = max(worst, relative)
                bound = reference.bound(i, name)
                if gap > bound:
                    shown = built.compare_command(inputs, name, self.expected_path(configuration.open, i, name), bound)
                    return {"outcome": "differs", "worst": relative, "command": shown,
                            "text": f"{name} of inputs {i} differs by {gap:.4g}; at most {bound:.4g} is rounding"}
        return {"outcome": "agrees", "worst": worst}

    def try_cut(self, configuration):
        built = self.build(configuration, self.folder / "cut.onnx")
        inputs = self.folder / "cut_inputs.npz"
        files = built.run(inputs)
        names = {artifact.file_name(name): name for name in self.cut.expected}
        wrong, off, total = self.cut.judge({names[file]: value for file, value in files.items() if file in names})
        outcome = {"outcome": "differs" if wrong else "agrees", "off": off, "total": total}
        if wrong:
            name = wrong[0].split(": ")[0]
            expected = self.folder / "cut_expected" / f"{artifact.file_name(name)}.npy"
            bound = 0 if name in self.cut.exact else 1
            outcome.update(text="; ".join(wrong)[:400], command=built.compare_command(inputs, name, expected, bound))
        return outcome


def failed(failure):
    return {"outcome": "failed", "text": str(failure), "command": failure.command}


def write_case(model, folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    model.write(folder / "model.onnx")
    cut = Cut(onnx.load(str(folder / "model.onnx")), model.inputs(numpy.random.default_rng(1), FIXED, AMPLITUDES[0]))
    if not cut.expected:
        shutil.rmtree(folder)
        raise ValueError("it has no integers between its operators")
    cut.write_case(folder)
