# SPDX-License-Identifier: Apache-2.0
"""Results as text, JSON, CSV and a plot.

Rows of one race share model, neighbours and `race`; rows of earlier versions may lack the last two. A `case` is a pair
of threads and neighbours.
"""
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


def case_of(row):
    return row["threads"], row.get("neighbours", 0)


def cases(rows):
    """In order: all numbers of threads without neighbours, then with one, and so on."""
    return sorted({case_of(row) for row in rows}, key=lambda case: case[::-1])


def describe(case, all_threads=None):
    """With `all_threads`: of a race, which has several numbers of them."""
    threads, neighbours = case
    text = f"{', '.join(map(str, all_threads or [threads]))} thread{'' if threads == 1 else 's'}"
    return text + (f", {neighbours} neighbour{'' if neighbours == 1 else 's'}" if neighbours else "")


def unique(values):
    return list(dict.fromkeys(values))


def index(rows):
    return {(row["model"], case_of(row), row["contestant"]): row for row in rows}


def without_duplicates(rows):
    """Keeps the last row of each contestant for each model and case."""
    return list(index(rows).values())


def ratio(table, model, case, contestant, base=BASE):
    """The median over the rounds: a load that slows the machine for a while slows all contestants of a round."""
    row, other = table.get((model, case, contestant)), table.get((model, case, base))
    if row is None or other is None or not row.get("turns_ms") or not other.get("turns_ms"):
        return None
    return statistics.median(mine / theirs for mine, theirs in zip(row["turns_ms"], other["turns_ms"]))


def speed_up(table, model, case, contestant):
    """From one thread to this case's, beside as many neighbours: round by round, if they took part in one race."""
    row, alone = table.get((model, case, contestant)), table.get((model, (1, case[1]), contestant))
    if row is None or alone is None or not row.get("median_ms") or not alone.get("median_ms"):
        return None
    if row.get("race") is None or row["race"] != alone.get("race"):
        return alone["median_ms"] / row["median_ms"]
    return statistics.median(one / several for one, several in zip(alone["turns_ms"], row["turns_ms"]))


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def ratios_of(table, models, case, contestant, base=BASE):
    found = [ratio(table, model, case, contestant, base) for model in models]
    return [value for value in found if value is not None]


def means(rows, case, base=BASE):
    """By contestant: geometric mean of the ratios, the highest one, and over how many models."""
    table, models = index(rows), unique(row["model"] for row in rows)
    result = {}
    for contestant in unique(row["contestant"] for row in rows):
        ratios = ratios_of(table, models, case, contestant, base)
        if ratios:
            result[contestant] = (geometric_mean(ratios), max(ratios), len(ratios))
    return result


def cell(table, model, case, contestant):
    row = table.get((model, case, contestant))
    if row is None:
        return ""
    if "median_ms" not in row:
        return "failed"
    relative = ratio(table, model, case, contestant)
    text = f"{row['median_ms']:.3f}" + (f" {relative:.2f}" if relative is not None and contestant != BASE else "")
    return text + ("" if row.get("agrees", True) else " !")


def lines_of(cells):
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    return ["  ".join(text.ljust(width) if i == 0 else text.rjust(width)
                      for i, (text, width) in enumerate(zip(line, widths))).rstrip() for line in cells]


def number(value, digits=2):
    return f"{value:.{digits}f}" if value is not None else ""


def case_table(rows, case, models, contestants):
    """Medians in milliseconds, then the ratio to ONNX Runtime; ! if outputs differ. Below: means and highest ratios to
    each peer."""
    by_key = index(rows)
    cells = [["model"] + contestants]
    cells += [[model] + [cell(by_key, model, case, name) for name in contestants] for model in models
              if any((model, case, name) in by_key for name in contestants)]
    for base in contestants:
        mean = means(rows, case, base)
        if base.startswith("byoc ") or base not in mean:
            continue
        for words, which in (("geometric mean", 0), ("highest", 1)):
            cells.append([f"{words}, to {base}"] + [number(mean[name][which]) if name in mean else ""
                                                     for name in contestants])
    return [f"{describe(case)}: median ms, ratio to {BASE}"] + lines_of(cells) + [""]


def field_table(title, rows, case, models, contestants, value):
    """One number for each model and contestant; nothing if there is none."""
    by_key = index(rows)
    cells = [[model] + [value(by_key, model, case, name) for name in contestants] for model in models]
    cells = [line for line in cells if any(line[1:])]
    return [title] + lines_of([["model"] + contestants] + cells) + [""] if cells else []


def processor_cell(table, model, case, contestant):
    return number(table.get((model, case, contestant), {}).get("processor_ms"), 3)


def speed_up_cell(table, model, case, contestant):
    return number(speed_up(table, model, case, contestant))


def error_cell(table, model, case, contestant):
    error = table.get((model, case, contestant), {}).get("relative_error")
    return f"{error:.1e}" if error is not None else ""


def error_table(rows, models, contestants):
    """Of the first case: errors do not depend on threads."""
    if all(row.get("precision", "f32") == "f32" for row in rows):
        return []
    return field_table("relative error of the outputs, to those of the first contestant in f32", rows, cases(rows)[0],
                       models, contestants, error_cell)


def start_table(rows, models, contestants):
    cells = [["build s / start ms"] + contestants]
    for model in models:
        line = [model]
        for name in contestants:
            row = next((row for row in rows if row["model"] == model and row["contestant"] == name
                        and "start_ms" in row), None)
            build = f"{row['build_s']:.1f} / " if row and "build_s" in row else ""
            line.append(f"{build}{row['start_ms']:.1f}" if row else "")
        cells.append(line)
    return lines_of(cells)


def table(rows):
    models, contestants = unique(row["model"] for row in rows), unique(row["contestant"] for row in rows)
    out = []
    for case in cases(rows):
        out += case_table(rows, case, models, contestants)
        out += field_table(f"{describe(case)}: processor ms of all threads for a run", rows, case, models, contestants,
                           processor_cell)
        if case[0] > 1:
            out += field_table(f"{describe(case)}: times as fast as one thread", rows, case, models, contestants,
                               speed_up_cell)
    out += error_table(rows, models, contestants)
    out += start_table(rows, models, contestants)
    failures = [f"{row['model']}, {row['contestant']}, {describe(case_of(row))}: {row['error']}" for row in rows
                if "error" in row]
    return "\n".join(out + (["", "failed:"] + failures if failures else []))


FIELDS = ["model", "threads", "neighbours", "contestant", "precision", "median_ms", "best_ms", "processor_ms", "runs", "ratio",
          "agrees", "worst_difference", "relative_error", "build_s", "size_bytes", "open_ms", "first_result_ms", "start_ms", "error"]


def as_csv(rows):
    out = io.StringIO()
    writer = csv.DictWriter(out, FIELDS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    by_key = index(rows)
    for row in rows:
        writer.writerow({"neighbours": 0, **row, "ratio": ratio(by_key, row["model"], case_of(row), row["contestant"])})
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
    for case in cases(rows):
        mean = means(rows, case)
        body.append(f'<text x="8" y="{y}" class="head">{describe(case)}</text>')
        y += 14
        for model in models + ["geometric mean"]:
            bars = []
            for name in contestants:
                is_mean = model == "geometric mean" and name in mean
                value = mean[name][0] if is_mean else ratio(by_key, model, case, name)
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
    results["geometric_means"] = {describe(case): {name: value[0] for name, value in means(rows, case).items()}
                                  for case in cases(rows)}
    replace(folder / "results.json", json.dumps(results, indent=1) + "\n")
    replace(folder / "table.txt", table(rows) + "\n" if rows else "")
    replace(folder / "table.csv", as_csv(rows))
    replace(folder / "ratios.svg", plot(rows))
