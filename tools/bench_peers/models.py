# SPDX-License-Identifier: Apache-2.0
"""The models that are timed: shared ones, generated ones, files."""
import pathlib
import subprocess
import sys

# The models that byoc-modelgen makes, and whether they have a sequence length.
GENERATED = {"mobilenet_v2": False, "shufflenet_v2": False, "densenet121": False, "resnet50": False, "bert_base": True,
             "gpt2_step": True}


class Model:
    def __init__(self, name, path, build_seconds=0.0):
        self.name, self.path, self.build_seconds = name, pathlib.Path(path), build_seconds


def shared(repository):
    """Models beside the repository, by name."""
    root = repository.parent / "shared" / "models"
    if not root.is_dir():
        root = repository.parent.parent / "shared" / "models"  # a worktree lies one folder deeper
    return {path.stem: path for path in sorted(root.glob("*/*.onnx"))}


def names(repository):
    return list(shared(repository)) + [name for name in GENERATED]


def fill(path, out, arguments):
    """The light models have no weights of their own; ../shared/tools/fill_weights.py gives them seeded ones."""
    tool = path.parent.parent.parent / "tools" / "fill_weights.py"
    if not tool.exists():
        return f"{tool} is missing"
    result = subprocess.run([sys.executable, tool, path, out, "--seed", "1"], capture_output=True, text=True)
    return None if result.returncode == 0 else result.stderr.strip().splitlines()[-1]


def generate(name, folder, arguments, batch, sequence):
    label = f"{name} batch {batch}" + (f" sequence {sequence}" if sequence else "")
    path = folder / (label.replace(" ", "_") + ".onnx")
    if not path.exists():
        command = [arguments.programs / "byoc-modelgen", name, "-o", path, "--batch", str(batch)]
        subprocess.run(command + (["--sequence", str(sequence)] if sequence else []), check=True)
    return Model(label, path)


def collect(arguments, repository):
    """Yields the models one after the other; each is made when its turn comes."""
    folder = arguments.output / "models"
    folder.mkdir(parents=True, exist_ok=True)
    for file in arguments.files:
        yield Model(pathlib.Path(file).stem, file)
    if arguments.models is None and arguments.files:
        return
    known = shared(repository)
    wanted = names(repository) if arguments.models in (None, "all") else arguments.models.split(",")
    for name in wanted:
        if name in known and name.startswith("light_"):
            path = folder / f"{name}.onnx"
            reason = None if path.exists() else fill(known[name], path, arguments)
            if reason is None:
                yield Model(name, path)
            else:
                print(f"left out: {name}: {reason}", flush=True)
        elif name in known:
            yield Model(name, known[name])
        elif name in GENERATED:
            for batch in arguments.batch:
                for sequence in arguments.sequence if GENERATED[name] else [0]:
                    yield generate(name, folder, arguments, batch, sequence)
        else:
            sys.exit(f"bench-peers: there is no model '{name}'; known are {', '.join(names(repository))}")
