# SPDX-License-Identifier: Apache-2.0
"""Builds a decoder and decodes a few tokens."""

import sys

import numpy as np

import byoc


def decode(model: byoc.Model, count: int) -> list:
    """The tokens behind the first one; the cache of a step is the results of the step before."""
    caches = [port.name for port in model.inputs if port.name.startswith("past_")]
    state = {name: np.zeros((1, 12, 0, 64), np.float32) for name in caches}
    tokens = [42]
    for position in range(count - 1):
        results = model.run({"input_ids": np.array([[tokens[-1]]]), "position_ids": np.array([[position]]), **state})
        tokens.append(int(np.argmax(results["logits"])))
        state = {name: results[name.replace("past_", "present_")] for name in caches}
    return tokens


def main() -> None:
    built = byoc.build(sys.argv[1], "gpt.so", target="c")
    print(built.placement)
    model = byoc.load("gpt.so")
    tokens = decode(model, 6)
    print(f"{len(tokens)} tokens: {', '.join(str(token) for token in tokens)}")
    try:
        model.run({"input_ids": np.zeros((1, 1), np.float32)})
    except (TypeError, ValueError) as error:
        print(f"a wrong input: {error}")


main()
