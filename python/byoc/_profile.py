# SPDX-License-Identifier: Apache-2.0
"""Times of an artifact's instructions as objects, and as HTML in a notebook."""

from __future__ import annotations

from html import escape
from statistics import median
from typing import Any, Dict, List, NamedTuple, Tuple

from ._plan import swatch, table


class ProfileRow(NamedTuple):
    """What one instruction took; the nodes inside an engine stand before it, with a tab before their names."""

    name: str
    nanoseconds: int


class ProfileStep(NamedTuple):
    """An instruction of the model: the median of its times over the runs."""

    name: str  # "Conv+Relu 'layer1.conv'"
    target: str  # "" of the host's own: shapes, memory
    nanoseconds: float
    share: float  # of all instructions


class ProfileTotal(NamedTuple):
    """All instructions with the same operators on the same target."""

    operators: str
    target: str
    count: int
    nanoseconds: float


class Profile:
    """Medians over several runs, in the order of the program."""

    def __init__(self, metadata: Dict[str, Any], runs: List[List[ProfileRow]]) -> None:
        self.run_count = len(runs)
        self.targets = [target["kind"] for target in metadata.get("targets", [])]
        kinds = {step["name"]: step["target"] for step in metadata.get("steps", [])}
        # A loop reports an instruction several times in a run: what counts is their sum.
        sums: List[Dict[str, int]] = []
        for run in runs:
            times: Dict[str, int] = {}
            for row in run:
                if not row.name.startswith("\t"):
                    times[row.name] = times.get(row.name, 0) + row.nanoseconds
            sums.append(times)
        names = list(dict.fromkeys(name for times in sums for name in times))
        medians = {name: float(median(times.get(name, 0) for times in sums)) for name in names}
        self.nanoseconds = sum(medians.values())
        self.steps = [
            ProfileStep(name, kinds.get(name, ""), time, time / self.nanoseconds if self.nanoseconds else 0.0)
            for name, time in medians.items()
        ]

    def totals(self) -> List[ProfileTotal]:
        """The sums by operators and target, the longest first."""
        sums: Dict[Tuple[str, str], Tuple[int, float]] = {}
        for step in self.steps:
            key = step.name.split(" '")[0], step.target
            count, time = sums.get(key, (0, 0.0))
            sums[key] = count + 1, time + step.nanoseconds
        totals = [ProfileTotal(*key, count, time) for key, (count, time) in sums.items()]
        return sorted(totals, key=lambda total: (-total.nanoseconds, total.operators, total.target))

    def __repr__(self) -> str:
        return f"<byoc.Profile of {len(self.steps)} instructions, {self.nanoseconds / 1e6:.3f} ms, {self.run_count} runs>"

    def _repr_html_(self) -> str:
        def cells(name: str, target: str, time: float) -> List[str]:
            share = time / self.nanoseconds if self.nanoseconds else 0.0
            return [swatch(self.targets, target) if target else "", escape(name), f"{time / 1e3:.1f}", f"{share:.1%}"]

        slowest = sorted(self.steps, key=lambda step: -step.nanoseconds)[:20]
        headings = ["target", "instruction", "µs", "share"]
        return (
            f"<p>{self.nanoseconds / 1e6:.3f} ms in {len(self.steps)} instructions, medians of {self.run_count} runs</p>"
            + table(headings, [cells(step.name, step.target, step.nanoseconds) for step in slowest])
            + table(
                ["target", "operators", "µs", "share", "times"],
                [[*cells(t.operators, t.target, t.nanoseconds), str(t.count)] for t in self.totals()],
            )
        )
