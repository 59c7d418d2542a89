# SPDX-License-Identifier: Apache-2.0
"""Results as text, JSON, CSV and a plot."""
import csv
import io
import json
import math
import os
import platform
import statistics

BASE = "onnxruntime"


def machine():
    model = platform.processor()
    try:
        with open("/proc/cpuinfo") as file:
            model = next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return {"processor": model, "processors": os.cpu_count(), "system": platform.platform()}


def without_duplicates(rows):
    """Keeps the last row of each contestant for each model."""
    kept = {}
    for row in rows:
        kept[(row["model"], row["threads"], row["contestant"])] = row
    return list(kept.values())


def unique(values):
    return list(dict.fromkeys(values))


def index(rows):
    return {(row["model"], row["threads"], row["contestant"]): row for row in rows}


def ratio(table, model, threads, contestant):
    """The median over the rounds: a load that slows the machine for a while slows all contestants of a round."""
    row, base = table.get((model, threads, contestant)), table.get((model, threads, BASE))
    if row is None or base is None or not row.get("turns_ms") or not base.get("turns_ms"):
        return None
    return statistics.median(mine / theirs for mine, theirs in zip(row["turns_ms"], base["turns_ms"]))


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def means(rows, threads):
    """By contestant: geometric mean of the ratios, and over how many models."""
    table = index(rows)
    result = {}
    for contestant in unique(row["contestant"] for row in rows):
        ratios = [ratio(table, model, threads, contestant) for model in unique(row["model"] for row in rows)]
        ratios = [value for value in ratios if value is not None]
        if ratios:
            result[contestant] = (geometric_mean(ratios), len(ratios))
    return result


def cell(table, model, threads, contestant):
    row = table.get((model, threads, contestant))
    if row is None:
        return ""
    if "median_ms" not in row:
        return "failed"
    relative = ratio(table, model, threads, contestant)
    text = f"{row['median_ms']:.3f}" + (f" {relative:.2f}" if relative is not None and contestant != BASE else "")
    return text + ("" if row.get("agrees", True) else " !")


def lines_of(cells):
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    return ["  ".join(text.ljust(width) if i == 0 else text.rjust(width)
                      for i, (text, width) in enumerate(zip(line, widths))).rstrip() for line in cells]


def table(rows):
    """Medians in milliseconds, then the ratio to ONNX Runtime; ! if outputs differ."""
    by_key = index(rows)
    models, contestants = unique(row["model"] for row in rows), unique(row["contestant"] for row in rows)
    out = []
    for threads in sorted(unique(row["threads"] for row in rows)):
        out.append(f"{threads} thread{'' if threads == 1 else 's'}: median ms, ratio to {BASE}")
        cells = [["model"] + contestants]
        cells += [[model] + [cell(by_key, model, threads, name) for name in contestants] for model in models
                  if any((model, threads, name) in by_key for name in contestants)]
        mean = means(rows, threads)
        cells.append(["geometric mean"] + [f"{mean[name][0]:.2f}" if name in mean else "" for name in contestants])
        out += lines_of(cells) + [""]
    cells = [["build s / start ms"] + contestants]
    for model in models:
        line = [model]
        for name in contestants:
            row = next((row for row in rows if row["model"] == model and row["contestant"] == name
                        and "start_ms" in row), None)
            build = f"{row['build_s']:.1f} / " if row and "build_s" in row else ""
            line.append(f"{build}{row['start_ms']:.1f}" if row else "")
        cells.append(line)
    out += lines_of(cells)
    failures = [f"{row['model']}, {row['contestant']}, {row['threads']} threads: {row['error']}" for row in rows
                if "error" in row]
    return "\n".join(out + (["", "failed:"] + failures if failures else []))


FIELDS = ["model", "threads", "contestant", "median_ms", "best_ms", "runs", "ratio", "agrees", "worst_difference",
          "build_s", "size_bytes", "open_ms", "first_result_ms", "start_ms", "error"]


def as_csv(rows):
    out = io.StringIO()
    writer = csv.DictWriter(out, FIELDS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    by_key = index(rows)
    for row in rows:
        writer.writerow({**row, "ratio": ratio(by_key, row["model"], row["threads"], row["contestant"])})
    return out.getvalue()


# ---- plot ----

COLOURS = ["#3b6fb6", "#d9782d", "#3f9b57", "#b8475b", "#7d5ba6", "#8a8a2b", "#4aa3a2", "#8c6d5a"]
LABEL, WIDTH, BAR, GAP, LIMIT = 230, 900, 11, 12, 4.0


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def position(value):
    """Ratios on a logarithmic axis from a quarter to four."""
    value = min(max(value, 1 / LIMIT), LIMIT)
    return LABEL + (math.log2(value) + 2) / 4 * (WIDTH - LABEL - 70)


def plot(rows):
    """Bars of the ratios to ONNX Runtime; the bars of faster contestants go from 1 to the left."""
    by_key = index(rows)
    models = unique(row["model"] for row in rows)
    contestants = [name for name in unique(row["contestant"] for row in rows) if name != BASE]
    colour = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(contestants)}
    body, y = [], 60
    for threads in sorted(unique(row["threads"] for row in rows)):
        mean = means(rows, threads)
        body.append(f'<text x="8" y="{y}" class="head">{threads} thread{"" if threads == 1 else "s"}</text>')
        y += 14
        for model in models + ["geometric mean"]:
            bars = []
            for name in contestants:
                value = mean[name][0] if model == "geometric mean" and name in mean else ratio(by_key, model, threads,
                                                                                               name)
                if value is not None:
                    bars.append((name, value))
            if not bars:
                continue
            body.append(f'<text x="{LABEL - 8}" y="{y + len(bars) * BAR / 2 + 4}" text-anchor="end">'
                        f'{escape(model)}</text>')
            for name, value in bars:
                left, right = sorted((position(1), position(value)))
                body.append(f'<rect x="{left:.1f}" y="{y}" width="{max(right - left, 1):.1f}" height="{BAR - 1}" '
                            f'fill="{colour[name]}"><title>{escape(name)} {value:.3f}</title></rect>'
                            f'<text x="{position(LIMIT) + 8:.1f}" y="{y + 9}" class="small">{value:.2f}</text>')
                y += BAR
            y += GAP
        y += GAP
    grid = "".join(f'<line x1="{position(v):.1f}" x2="{position(v):.1f}" y1="52" y2="{y}" '
                   f'class="{"one" if v == 1 else "grid"}"/><text x="{position(v):.1f}" y="{y + 14}" '
                   f'text-anchor="middle" class="small">{v:g}</text>' for v in (0.25, 0.5, 1, 2, 4))
    key = "".join(f'<rect x="{8 + i * 112}" y="28" width="10" height="10" fill="{colour[name]}"/>'
                  f'<text x="{22 + i * 112}" y="37" class="small">{escape(name)}</text>'
                  for i, name in enumerate(contestants))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 24}" width="{WIDTH}">'
            "<style>text{font:12px sans-serif;fill:#222}.small{font-size:10px;fill:#555}.head{font-weight:bold}"
            ".grid{stroke:#ddd}.one{stroke:#222}</style>"
            f'<rect width="100%" height="100%" fill="#fff"/><text x="8" y="18" class="head">time against {BASE}: left '
            f'of 1 is faster</text>{key}{grid}{"".join(body)}</svg>\n')


def replace(path, text):
    temporary = path.with_suffix(path.suffix + ".tmp")
    temporary.write_text(text)
    temporary.replace(path)


def write(results, folder):
    rows = results["rows"]
    results["geometric_means"] = {str(threads): {name: value[0] for name, value in means(rows, threads).items()}
                                  for threads in unique(row["threads"] for row in rows)}
    replace(folder / "results.json", json.dumps(results, indent=1) + "\n")
    replace(folder / "table.txt", table(rows) + "\n" if rows else "")
    replace(folder / "table.csv", as_csv(rows))
    replace(folder / "ratios.svg", plot(rows))
