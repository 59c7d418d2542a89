# SPDX-License-Identifier: Apache-2.0
"""The table of the zoo: as markdown, as JSON, and the lines that are printed."""
import collections
import json


def floats_cell(row):
    return "; ".join(f"{kind} {len(names)}x ({reason})" for kind, reason, names in sorted(row["floats"])) or "none"


def result_cell(outcome):
    if outcome is None:
        return "-"
    if outcome["outcome"] != "agrees":
        return outcome["outcome"]
    if "total" in outcome:
        return f"agrees, {outcome['off']} of {outcome['total']} one off"
    return "equal" if outcome["worst"] == 0 else f"agrees, {outcome['worst']:.2g}"


def failures(row):
    """Yields (configuration, outcome) of what failed."""
    return [(name, outcome) for name, outcome in row["results"].items() if outcome["outcome"] != "agrees"]


def names_of(rows):
    return list(dict.fromkeys(name for row in rows for name in row["results"]))


def markdown(rows, names):
    """Numbers behind `agrees` are the largest difference: in steps of a quantised result, else relative."""
    lines = ["| model | KiB | left in floats (why) | same graph | ONNX Runtime's default | " + " | ".join(names) + " |",
             "| --- " * (5 + len(names)) + "|"]
    for row in rows:
        if row["no_case"]:
            lines.append(f"| {row['model']} | - | no case: {row['no_case']} |" + " - |" * (2 + len(names)))
            continue
        same = "yes" if not row["differs_on"] else "not for " + ", ".join(row["differs_on"])
        cells = [result_cell(row["results"].get(name)) for name in names]
        default = "refuses" if row["default_differs"] is None else f"{row['default_differs']:.2g}"
        lines.append(f"| {row['model']} | {row['bytes'] / 1024:.0f} | {floats_cell(row)} | {same} | "
                     f"{default} | " + " | ".join(cells) + " |")
    return lines


def summary(rows, names):
    """The lines that end the command."""
    cases = [row for row in rows if not row["no_case"]]
    lines = [f"{len(rows)} models, {len(rows) - len(cases)} were no case"]
    for name in names:
        outcomes = [row["results"][name] for row in cases if name in row["results"]]
        counts = collections.Counter(outcome["outcome"] for outcome in outcomes)
        off, total = (sum(outcome.get(key, 0) for outcome in outcomes) for key in ("off", "total"))
        told = f"; {off} of {total} integers are one step off" if total else ""
        lines.append(f"{name:18} {counts['agrees']:4} of {len(outcomes)} agree, {counts['differs']} differ, "
                     f"{counts['failed']} failed{told}")
    lines.append(f"{sum(not row['differs_on'] for row in cases)} of {len(cases)} have one graph for all processors")
    reasons = collections.Counter()
    for row in cases:
        reasons.update({(kind, reason): len(found) for kind, reason, found in row["floats"]})
    lines += [f"in floats: {count:4} {kind}: {reason}" for (kind, reason), count in sorted(
        reasons.items(), key=lambda item: (item[0][1], -item[1], item[0][0]))]
    return lines


def failure_lines(rows):
    return [f"{outcome['outcome'].upper()} {row['model']} [{name}]: {outcome['text']}\n  {outcome['command']}"
            for row in rows for name, outcome in failures(row)]


def write(folder, rows):
    """Writes table.json and table.md. Returns the last lines to print."""
    names = names_of(rows)
    (folder / "table.json").write_text(json.dumps(rows, indent=1) + "\n")
    lines = [*markdown(rows, names), "", "```", *failure_lines(rows), *summary(rows, names), "```"]
    (folder / "table.md").write_text("\n".join(lines) + "\n")
    return summary(rows, names)
