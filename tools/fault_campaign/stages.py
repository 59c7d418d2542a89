# SPDX-License-Identifier: Apache-2.0
"""What is tried: commands, with the state of the cache and what they leave behind."""
import dataclasses
import pathlib

ALL = "cutlass; dnnl; cblas; c"
PLAIN = "c -O=0"  # compiled quickly
CONFORM_CASE = pathlib.Path("/usr/share/libonnx-testdata/data/node/test_gemm_default_vector_bias")


@dataclasses.dataclass(frozen=True)
class Stage:
    """One command. It runs in a folder that holds `in` (models and artifacts, see MATERIAL), `out` and `tmp`.

    cache: "cold" starts with an empty one, "warm" with one in which the command ran before.
    outputs: files that it makes; both or none. `over`: older ones are there already.
    result: what must be equal if it worked: "files" byte by byte, "values" of the artifact within a tolerance, "text" of
    standard output, "told" (that, or it says what is missing and why), "sum" (its first line only), or "" (nothing: it
    prints times).
    """
    name: str
    command: tuple
    cache: str = "warm"
    outputs: tuple = ()
    over: bool = False
    result: str = "text"
    share: float = 1.0
    short: bool = False
    waits: bool = False  # the command says when calls begin to fail

    @property
    def makes_artifact(self):
        return "out/model.so" in self.outputs

    @property
    def loads_libraries(self):
        """Contexts are made of backends whose libraries travel in the artifact, and calls may fail meanwhile."""
        is_run = self.waits and self.command[-1] == "run"
        return not is_run and any(word in text for text in self.command for word in ("dnnl", "in/mix", "in/plan"))


# The inputs of all stages, made once without faults: output and command.
MATERIAL = {
    "in/lenet.onnx": ("byoc-modelgen", "lenet", "-o", "in/lenet.onnx"),
    "in/mlp.onnx": ("byoc-modelgen", "mlp", "--batch", "0", "-o", "in/mlp.onnx"),
    "in/c.so": ("byoc", "build", "in/lenet.onnx", "-o", "in/c.so", "-t", "c", "--plan", "greedy"),
    "in/cutlass.so": ("byoc", "build", "in/lenet.onnx", "-o", "in/cutlass.so", "-t", "cutlass", "--plan", "greedy"),
    "in/cblas.so": ("byoc", "build", "in/lenet.onnx", "-o", "in/cblas.so", "-t", "cblas", "--plan", "greedy"),
    "in/dnnl.so": ("byoc", "build", "in/lenet.onnx", "-o", "in/dnnl.so", "-t", "dnnl", "--plan", "greedy"),
    "in/mix.so": ("byoc", "build", "in/lenet.onnx", "-o", "in/mix.so", "-t", ALL, "--plan", "greedy"),
    "in/open.so": ("byoc", "build", "in/mlp.onnx", "-o", "in/open.so", "-t", "c", "--plan", "greedy"),
    "in/timed.so": ("byoc", "build", "in/lenet.onnx", "-o", "in/timed.so", "-t", "c", "--plan", "greedy", "--profile"),
    "in/traced.so": ("byoc", "build", "in/lenet.onnx", "-o", "in/traced.so", "-t", "c", "--plan", "greedy", "--trace"),
    "in/trace.txt": ("byoc", "run", "in/traced.so", "--random", "--trace=in/trace.txt"),
    "in/plan.json": ("byoc", "explain", "in/lenet.onnx", "-t", ALL, "--cost", "estimate", "--save-plan",
                     "in/plan.json"),
}
SHORT_MATERIAL = ("in/lenet.onnx", "in/c.so")
ARTIFACT = ("out/model.so", "out/model.h")


def build(*words):
    return ("byoc", "build", "in/lenet.onnx", "-o", "out/model.so", *words)


def host(name, part, threads, rows=1):
    return Stage(f"host-{part}-{name}-{threads}", ("faults_host", f"in/{name}.so", str(threads), str(rows), part),
                 result="text" if name in ("c", "cutlass", "open") and part != "load" else "sum", waits=True, share=3,
                 short=name == "c" and part == "create")


def make_stages():
    greedy, search = ("--plan", "greedy"), ("--plan", "collage", "--cost-budget", "2")
    stages = [
        Stage("build-c-cold", build("-t", PLAIN, *greedy), "cold", ARTIFACT, False, "files", 2, True),
        Stage("build-c-warm", build("-t", PLAIN, *greedy), "warm", ARTIFACT, True, "files", 4, True),
        Stage("build-all-cold", build("-t", ALL, *greedy), "cold", ARTIFACT, False, "files", 0.3),
        Stage("build-all-warm", build("-t", ALL, *greedy), "warm", ARTIFACT, True, "files", 0.7),
        Stage("build-search-cold", build("-t", "cutlass; cblas; c", *search), "cold", ARTIFACT, True, "values", 0.3),
        Stage("build-search-warm", build("-t", ALL, *search), "warm", ARTIFACT, False, "values", 0.5),
        Stage("build-emit", ("byoc", "build", "in/lenet.onnx", "-t", ALL, *greedy, "--emit=c"), share=0.7),
        Stage("build-plan", build("-t", ALL, "--plan", "in/plan.json", "--html", "out/plan.html"), "warm",
              ARTIFACT + ("out/plan.html",), False, "files", 0.7),
        Stage("run-model", ("byoc", "run", "in/lenet.onnx", "--evaluate", "--random"), share=4, short=True),
        Stage("run-compiled", ("byoc", "run", "in/lenet.onnx", "-t", PLAIN, *greedy, "--random")),
        Stage("run-open", ("byoc", "run", "in/open.so", "--random", "--dim", "batch=3"), share=4),
        Stage("run-traced", ("byoc", "run", "in/traced.so", "--random", "--trace"), share=3),
        Stage("run-traced-model", ("byoc", "run", "in/lenet.onnx", "--evaluate", "--random", "--trace"), share=2),
        Stage("debug-diff", ("byoc", "debug", "diff", "in/trace.txt", "in/trace.txt"), share=3),
        Stage("explain", ("byoc", "explain", "in/lenet.onnx", "-t", ALL, "--cost", "estimate", "--html",
                          "out/plan.html", "--save-plan", "out/plan.json"), "warm",
              ("out/plan.html", "out/plan.json"), False, "files", 2),
        Stage("explain-measured", ("byoc", "explain", "in/lenet.onnx", "-t", "cblas; c", "--cost-budget", "1"), "cold",
              result="", share=0.2),
        Stage("profile", ("byoc", "profile", "in/timed.so", "--runs", "2", "--html", "out/t.html", "--trace",
                          "out/t.json"), "warm", ("out/t.html", "out/t.json"), False, "", 1.5),
        Stage("bench", ("byoc", "bench", "in/c.so", "--runs", "2"), result="", share=2),
        Stage("inspect", ("byoc", "inspect", "in/mix.so"), share=2),
        Stage("plugins", ("byoc", "plugins"), result="told"),
        Stage("targets", ("byoc", "targets"), result="told", share=1.5),
        Stage("costs", ("byoc", "costs", "list"), share=2),
    ]
    if CONFORM_CASE.is_dir():
        stages.append(Stage("conform", ("byoc", "conform", str(CONFORM_CASE), "-j", "1"), result="", share=0.5))
    for name in ("c", "cutlass", "cblas", "dnnl", "mix"):
        stages.append(Stage(f"run-{name}", ("byoc", "run", f"in/{name}.so", "--random", "--output-dir", "out"),
                            outputs=("out/output.npy",), short=name == "c", share=3))
        stages += [host(name, "load", 1), host(name, "create", 1), host(name, "create", 2), host(name, "run", 2)]
    stages += [host("open", "create", 2, 5), host("open", "run", 1, 5)]
    return stages
