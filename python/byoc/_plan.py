# SPDX-License-Identifier: Apache-2.0
"""What was placed where: the plan of a build as objects, and as HTML in a notebook."""

from __future__ import annotations

from html import escape
from typing import Any, Dict, List, NamedTuple, Tuple

# As on the page of byoc explain: targets by their place, "c" in grey.
_COLOURS = ("#1971c2", "#2b8a3e", "#9c36b5", "#c2255c", "#0b7285", "#5c940d", "#6741d9", "#a61e4d")
_NATIVE = "#7a828e"


class Node(NamedTuple):
    """An operator of the model, as it was placed."""

    op: str
    name: str  # "" if it has none
    type: str  # of its first result: "f32[1,6,28,28]"


class Region(NamedTuple):
    """What one target computes at a time."""

    block: str  # "main", or a variant
    target: str  # "cutlass"
    rule: str  # "" where the target "c" fuses as it sees fit
    nodes: Tuple[Node, ...]


def swatch(targets: List[str], target: str) -> str:
    """A square in the target's colour, and its name."""
    place = targets.index(target) if target in targets else len(targets) - 1
    colour = _NATIVE if place == len(targets) - 1 else _COLOURS[place % len(_COLOURS)]
    square = f'<span style="display:inline-block;width:.8em;height:.8em;border-radius:3px;background:{colour}"></span>'
    return f"{square}&nbsp;{escape(target)}"


def table(headings: List[str], rows: List[List[str]]) -> str:
    """A table of cells that are HTML already."""
    head = "".join(f"<th style='text-align:left'>{escape(heading)}</th>" for heading in headings)
    body = "".join("<tr>" + "".join(f"<td style='text-align:left'>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


class Plan(Dict[str, Any]):
    """A plan: the JSON that byoc build --save-plan writes, and what is read most often."""

    @property
    def targets(self) -> List[str]:
        """Their kinds, in order of preference; "c" is the last one."""
        return [text.split(" ")[0] for text in self.get("targets", [])]

    @property
    def regions(self) -> List[Region]:
        """All operators: the regions of the targets, and those that are left for "c", one by one."""
        found = []
        for block in self.get("blocks", []):
            nodes = [Node(node["op"], node.get("name", ""), node.get("type", "")) for node in block["nodes"]]
            left = set(range(len(nodes)))
            regions = []
            for region in block["regions"]:
                left -= set(region["nodes"])
                members = tuple(nodes[i] for i in region["nodes"])
                place = min(region["nodes"])
                regions.append((place, Region(block["name"], self.targets[region["target"]], region["rule"], members)))
            regions += [(i, Region(block["name"], self.targets[-1], "", (nodes[i],))) for i in left]
            found += [region for _, region in sorted(regions, key=lambda entry: entry[0])]
        return found

    def counts(self) -> Dict[str, int]:
        """How many operators each target computes."""
        counts = {target: 0 for target in self.targets}
        for region in self.regions:
            counts[region.target] += len(region.nodes)
        return counts

    def _repr_html_(self) -> str:
        targets = self.targets
        counted = ", ".join(f"{swatch(targets, target)} {count}" for target, count in self.counts().items())
        rows = [
            [
                swatch(targets, region.target),
                escape(region.rule),
                escape("+".join(node.op for node in region.nodes)),
                escape(next((node.name for node in region.nodes if node.name), "")),
                escape(region.nodes[-1].type),
            ]
            for region in self.regions
        ]
        title = f"<p><b>{escape(str(self.get('model', '')))}</b>, {escape(str(self.get('strategy', '')))} plan: {counted}</p>"
        return title + table(["target", "rule", "operators", "first node", "result"], rows)
