"""Runs `byoc conform` over the cases."""
import json
import pathlib
import subprocess
import sys


def conform(arguments, root, names, words):
    """Returns KIND/NAME -> "passed" or why not, of the cases with these names."""
    kinds = sorted({name.split("/")[0] for name in names})
    command = [arguments.programs / "byoc", "conform", *(root / kind for kind in kinds), *words, "--json", "--atol", "1e-5",
               "--jobs", str(arguments.jobs), "--filter", arguments.filter]
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
