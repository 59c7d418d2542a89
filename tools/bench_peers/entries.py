# SPDX-License-Identifier: Apache-2.0
"""Who takes part in a race: each engine in each precision that was asked for and that it has.

In f32 an entry has the name of its engine; otherwise the precision follows: "openvino default", "byoc cutlass bf16".
"""
from bench_peers import peers

# What --precisions takes. In `qdq` all engines get one model of integers that ONNX Runtime's quantiser has made.
PRECISIONS = {"f32": "floats of 32 bits", "default": "the engine's own choice, where that is not always f32",
              "bf16": "bfloat16 where the engine can", "f16": "float16 where the engine can",
              "int8": "integers with scales that each run computes, made by byoc from the f32 model",
              "qdq": "a quantised model, the same file for all engines"}
# Of byoc's precisions, those that `cutlass` makes from an f32 model by its option.
BY_OPTION = ["bf16", "f16", "int8"]


class Entry:
    def __init__(self, name, engine, precision, words=None):
        self.engine, self.precision, self.words = engine, precision, words
        self.name = name if precision == "f32" else f"{name} {precision}"

    @property
    def is_quantised(self):
        return self.precision == "qdq"


def of_byoc(name, words, precision):
    """None if this way to build has no target with the precision."""
    if precision in ("f32", "qdq"):
        return Entry(name, "byoc", precision, words)
    if precision in BY_OPTION and "cutlass" in words:
        return Entry(name, "byoc", precision, words.replace("cutlass", f"cutlass\\ -precision={precision}", 1))
    return None


def of_race(ways, found, precisions):
    """f32 comes first, and peers before byoc: the first entry's outputs are those that the others are compared with."""
    entries = []
    for precision in sorted(precisions, key=list(PRECISIONS).index):
        entries += [Entry(name, name, precision) for name in found if precision in peers.ENGINES[name].precisions]
        entries += filter(None, [of_byoc(name, words, precision) for name, words in ways.items()])
    return entries
