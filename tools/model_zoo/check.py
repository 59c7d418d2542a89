# SPDX-License-Identifier: Apache-2.0
"""Runs `byoc conform` over the cases."""
import json
import pathlib
import subprocess
import sys


# Rounding grows through deep networks with random weights, and boxes are numbers about 100: two runs of ONNX Runtime,
# with its optimisations and without, differ by as much.
TOLERANCES = {"vision": "1e-4", "detection": "2e-3"}


def tolerance(kind):
    return TOLERANCES.get(kind.removeprefix("dynamo_"), "1e-5")


def conform(arguments, root, names, words):
    """Returns KIND/NAME -> "passed" or why not, of the cases with these names."""
    outcomes = {}
    for kind in sorted({name.split("/")[0] for name in names}):
        outcomes.update(conform_kind(arguments, root / kind, names, [*words, "--atol", tolerance(kind)]))
    return outcomes


def conform_kind(arguments, folder, names, words):
    command = [arguments.programs / "byoc", "conform", folder, *words, "--json", "--jobs", str(arguments.jobs),
               "--filter", arguments.filter]
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    try:
        cases = json.loads(result.stdout)["cases"]
    except (ValueError, KeyError):
        sys.exit(f"model-zoo: byoc conform failed: {result.stderr.strip()[:500]}")
    outcomes = {}
    for case in cases:
        name = "/".join(pathlib.Path(case["path"]).parts[-2:])
        if name in names:
            passed = case["outcome"] == "passed"
            outcomes[name] = "passed" if passed else f"{case.get('stage', '')}: {case.get('reason', case['outcome'])}"
    return outcomes
