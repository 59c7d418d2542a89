#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/operators.md of the operator table, and of what tests/unit/ops holds it against.

operators.py SOURCE BYOC           compares the page with what it should be
operators.py SOURCE BYOC --write   writes it

The table comes from `byoc ops --json`. tests/unit/ops/schemas.txt and schemas_microsoft.txt have the operators of the
onnx package and of ONNX Runtime, and schema_differences.txt what is otherwise in the table; unit_ops_schemas holds
these three against the table, so the page says no more than what is tested.
"""

import difflib
import json
import pathlib
import re
import subprocess
import sys

DOMAINS = ("", "ai.onnx.ml", "ai.onnx.preview.training", "com.microsoft")
TARGETS = ("cutlass", "dnnl", "cblas", "opencl")
# Differences that come from the nodes of the test, not from the table.
OF_THE_TEST = re.compile(r"plausible node|lists of keys|a result that nobody reads|the default is what|in between"
                         r"|operands that are left out at the end|depends on the number of directions|taken as version"
                         r"|the attributes of ONNX's operator|there is nothing to join|follows from the operand's")


def shown(domain):
    return domain or "ai.onnx"


class Facts:
    def __init__(self, source, byoc):
        self.source = pathlib.Path(source)
        result = subprocess.run([byoc, "ops", "--json"], check=True, capture_output=True, text=True)
        self.operators = {(op["domain"], op["operator"]): op for op in json.loads(result.stdout) if "plugin" not in op}
        self.targets = {target for op in self.operators.values() for target in op["targets"]}
        self.release, self.newest, self.known = "", 0, {}
        self.runtime, self.contributed = "", set()
        self.read_schemas()
        self.missing, self.limits, self.notes, self.types = self.read_differences()

    def constant(self, path, name):
        files = [p for p in (self.source / "core").rglob(path)]
        return int(re.search(r"\b%s\s*=?\s*(\d+)" % name, "".join(p.read_text() for p in files)).group(1))

    def read_schemas(self):
        unit = self.source / "tests/unit/ops"
        text = (unit / "schemas.txt").read_text()
        self.release, newest = re.match(r"# From onnx (\S+), operator set (\d+)", text).groups()
        self.newest = int(newest)
        for domain, name, version in re.findall(r"^op (\S+) (\S+) (\d+)", text, re.M):
            self.known.setdefault(("" if domain == "-" else domain, name), []).append(int(version))
        text = (unit / "schemas_microsoft.txt").read_text()
        self.runtime = re.match(r"# From onnxruntime (\S+),", text).group(1)
        self.contributed = {name for name in re.findall(r"^op com\.microsoft (\S+)", text, re.M)}

    def read_differences(self):
        """Versions without a row, what operators restrict, what is only worth a note, and element types."""
        missing, limits, notes, types = {}, {}, {}, {}
        for line in (self.source / "tests/unit/ops/schema_differences.txt").read_text().splitlines():
            if line.startswith("#"):
                continue
            what, reason = line.split(" | ")
            if what.startswith("element type"):
                types[what.split()[2].rstrip(":")] = reason
                continue
            head, difference = what.split(": ", 1)
            name, version = head.rsplit("@", 1)
            domain, _, op = name.rpartition("::")
            key = (domain, op)
            if difference == "no row":
                versions = self.absent_versions(key) if version == "*" else [int(version)]
                missing.setdefault(key, []).extend((v, reason) for v in versions)
                assert key not in self.operators or reason.startswith("it meant something else"), line
            elif difference == "ONNX has no such version":
                notes.setdefault(key, []).append("version %s is %s" % (version, reason))
            elif not OF_THE_TEST.search(reason):
                text = self.limit_of(difference, reason)
                if text:
                    limits.setdefault(key, {}).setdefault(text, []).append(version)
        return missing, limits, notes, types

    def absent_versions(self, key):
        rows = [row["version"] for row in self.operators[key]["versions"]]
        return [version for version in self.known[key] if version < min(rows)]

    @staticmethod
    def limit_of(difference, reason):
        """What is limited ("type", "attribute", "count"), its name, and the rest of the sentence; None: no limit."""
        types = re.match(r"(\S+) does not take (.*)", difference)
        if types:
            words = ["`%s`" % word for word in types.group(2).split()]
            return "type", types.group(1), "%s: %s" % (", ".join(words), reason)
        attribute = re.match(r"attribute '(\S+)' is (missing|required)", difference)
        if attribute:
            verb = "refused" if attribute.group(2) == "missing" else "required"
            return "attribute", "`%s`" % attribute.group(1), "%s: %s" % (verb, reason)
        counts = re.match(r"(-?\d+) to (-?\d+) (operands|results), not", difference)
        if counts:
            least, most, what = counts.groups()
            return "count", "it", "%s%s %s: %s" % (least, "" if least == most else " to " + most, what, reason)
        return None


def sentence(names, verbs, rest):
    joined = " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else names[0]
    return "%s %s %s" % (joined, verbs[len(names) > 1], rest)


def limits_of(facts, key):
    """The text of the last column."""
    parts = []
    versions = [str(version) for version in sorted({version for version, _ in facts.missing.get(key, [])})]
    if versions:
        parts.append("version%s %s" % ("s" * (len(versions) > 1), sentence(versions, ("is", "are"), "refused")))
    groups = {}
    for (what, names, rest), found in sorted(facts.limits.get(key, {}).items()):
        every = "*" in found or len(facts.operators[key]["versions"]) == 1
        groups.setdefault(("" if every else "in version %s, " % ", ".join(found), what, rest), []).append(names)
    for (where, what, rest), names in groups.items():
        verbs = ("is not", "are not") if what == "type" else ("has", "have") if what == "count" else ("is", "are")
        parts.append(where + sentence(names, verbs, rest))
    parts.extend(facts.notes.get(key, []))
    if "limits" in facts.operators[key]["versions"][-1]["traits"]:
        parts.append("values are checked")
    return "; ".join(parts).replace("|", "\\|")


def table(facts, domain):
    lines = ["| operator | versions | targets | limits |", "| --- | --- | --- | --- |"]
    for key in sorted(key for key in facts.operators if key[0] == domain):
        op = facts.operators[key]
        versions = ", ".join(str(row["version"]) for row in op["versions"])
        targets = ", ".join(target for target in TARGETS if target in op["targets"])
        lines.append("| %s | %s | %s | %s |" % (key[1], versions, targets, limits_of(facts, key)))
    return lines


def wrapped(text, width=120):
    lines, line = [], ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line += " " * bool(line) + word
    return lines + [line]


HEAD = """
This page lists the operators that models may use, the versions of each, and what byoc refuses of them. `byoc ops NAME`
says more about one operator: operands, results, attributes and their defaults. `byoc inspect --coverage MODEL` lists
the operators of a model, and which of them are missing.
"""
COMPARED = """
Models have ONNX's IR version %d to %d. A model that imports a newer operator set of ai.onnx is refused. The comparison
is with onnx %s, whose newest operator set is %d, and with ONNX Runtime %s.
"""
VERSIONS = """
A version is the operator set that changed the operator. A model of operator set 17 gets the row with the largest
version that is not above 17. An operator from before its first row means what the first row says, unless the table
calls that version refused: it meant something else then, and ONNX Runtime has no kernel for it either. A model may use
an operator that is newer than its operator set; `--strict` refuses that.
"""
COLUMNS = """
An operator takes all element types that ONNX names for it, except those in the last column, where T, T1 and so on are
the names that ONNX gives to the types of an operator. The column `targets` names those with a rule for the operator; a
rule may ask for more ([targets.md](targets.md)). The target `c` and the host program run every operator. *Values are
checked* means that indices, lengths or divisors out of range end in an error
([running.md](running.md#indices-lengths-and-divisors)).
"""
RANKS = """
Tensors of more than %d dimensions. A tensor of unknown rank may have up to five
([running.md](running.md#shapes-known-at-run-time)).
"""
SPARSE = """
Sparse tensors and maps as values. A sparse constant becomes a dense one, and an input that is a map becomes two
vectors.
"""
TAIL = """
A model that uses an operator which is not covered is refused with the names of all of them. A plugin can declare such
an operator ([plugin.md](plugin.md#operators-of-your-own)).
"""


def domains(facts):
    """The table of domains."""
    count = {domain: sum(key[0] == domain for key in facts.operators) for domain in DOMAINS}
    learned = [op["versions"] for key, op in facts.operators.items() if key[0] == "ai.onnx.ml"]
    last = max(row["version"] for rows in learned for row in rows)
    lines = ["| domain | operator sets | operators |", "| --- | --- | --- |", "| ai.onnx | 1 to %d | %d |" %
             (facts.newest, count[""])]
    for domain, sets in (("ai.onnx.ml", "1 to %d" % last), ("ai.onnx.preview.training", "1"), ("com.microsoft", "1")):
        newest = sets.split()[-1]
        lines.append("| %s | %s; a later one is read as %s | %d |" % (domain, sets, newest, count[domain]))
    return lines + ["| a domain of a plugin | those that the plugin declares | |"]


def not_covered(facts):
    """The list of what is not covered."""
    by_reason = {}
    for key in sorted(key for key in facts.known if key not in facts.operators):
        by_reason.setdefault(facts.missing[key][0][1], []).append("%s of %s" % (key[1], shown(key[0])))
    items = ["%s: %s." % (", ".join(names), reason) for reason, names in sorted(by_reason.items())]
    types = " and ".join("`%s`" % name for name in sorted(facts.types))
    items.append("The element types %s: %s." % (types, next(iter(facts.types.values()))))
    items += [RANKS % facts.constant("type.h", "BYOC_MAX_RANK"), SPARSE]
    left = facts.contributed - {name for domain, name in facts.operators if domain == "com.microsoft"}
    items.append("Of com.microsoft, these operators of ONNX Runtime: %s." % ", ".join(sorted(left)))
    lines = []
    for item in items:
        first, *rest = wrapped("- " + item, 118)
        lines += [first] + ["  " + line for line in rest]
    return lines


def page(facts):
    newest = facts.constant("op.h", "BYOC_OPSET_NEWEST")
    assert newest == facts.newest, "schemas.txt is of operator set %d, the table of %d" % (facts.newest, newest)
    versions = [facts.constant("onnx_read.h", "BYOC_ONNX_IR_VERSION_" + end) for end in ("MIN", "MAX")]
    compared = COMPARED % (*versions, facts.release, facts.newest, facts.runtime)
    lines = ["<!-- Made by tests/pages/operators.py of the operator table, with --write. -->"]
    lines += ["# Operators and operator sets", "", *wrapped(HEAD), "", *domains(facts), "", *wrapped(compared), ""]
    lines += ["## How to read the tables", "", *wrapped(VERSIONS), "", *wrapped(COLUMNS), ""]
    lines += ["## What is not covered", "", *not_covered(facts), "", *wrapped(TAIL)]
    for domain in DOMAINS:
        lines += ["", "## Operators of %s" % shown(domain), ""] + table(facts, domain)
    return "\n".join(lines) + "\n"


def main():
    facts = Facts(sys.argv[1], sys.argv[2])
    lacking = set(TARGETS) - facts.targets
    if lacking:
        print("skipped: this build has no target %s" % ", ".join(sorted(lacking)))
        return 77
    path, text = facts.source / "docs/operators.md", page(facts)
    if sys.argv[3:] == ["--write"]:
        path.write_text(text)
        return 0
    old = path.read_text() if path.exists() else ""
    lines = old.splitlines(True), text.splitlines(True)
    sys.stdout.writelines(difflib.unified_diff(*lines, "docs/operators.md", "the table"))
    stale = 0
    for name in ("README.md", "CHANGELOG.md"):
        text_of = (facts.source / name).read_text()
        for number in re.findall(r"(?:ONNX|ai\.onnx \|) operator sets \d+ to (\d+)", text_of):
            if int(number) != facts.newest:
                print("%s speaks of operator set %s; byoc reads %d" % (name, number, facts.newest))
                stale = 1
    if old != text:
        print("docs/operators.md is not what the operator table says: run %s %s %s --write" % tuple(sys.argv[:3]))
    return int(old != text or stale)


if __name__ == "__main__":
    sys.exit(main())
