#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where tools/mutate changes a file of C, and which statement shows that a test reached the change.

usage: test_sites.py TOP
"""
import pathlib
import sys

TOP = pathlib.Path(sys.argv[1])
sys.dont_write_bytecode = True
sys.path.insert(0, str(TOP / "tools"))
from mutation import sites

# Each line with the number of the line whose statement is run just before it, or with it; 0 outside of functions.
EXAMPLE = """\
 0 static int sum(const int *values,
 0                int count) {
 3   int total = 0;
 3   // A comment begins nothing.
 5   for (int i = 0;
 5        i < count; ++i) {
 7     if (values[i] < 0 &&
 7         i > 2)
 7       return -1;
10     if (values[i] == 7) {
11       total += 1;
10     } else if (i > 1) {
13       total -= 1;
10     }
15     switch (values[i]) {
15     case 1:
17       total += 2;
18       break;
15     default:
20       total +=
20           3;
15     }
 5   }
24   const int table[] = {
24       1,
24       2,
24   };
28   const int64_t sizes[3] = {count, values[5], 1}, first = table[6];
29   int64_t grid[4][7], rest;
30   return total + table[0];
 0 }
"""


def check(is_so, what):
    if not is_so:
        sys.exit(f"test_sites: {what}")


def check_statements():
    expected = [int(line[:2]) for line in EXAMPLE.splitlines()]
    lines = [line[3:] for line in EXAMPLE.splitlines()]
    source = sites.without_texts(lines)
    found = sites.statements(source, sites.bodies(source))
    for number, (line, got, wanted) in enumerate(zip(lines, found, expected), 1):
        check(got == wanted, f"line {number} belongs to the statement in line {got}, not {wanted}: {line}")


def check_sites():
    found = {(site.line, site.before.strip(), site.after.strip()) for site in
             sites.of_file("example.c", "\n".join(line[3:] for line in EXAMPLE.splitlines()))}
    for site in [(6, "<", "<="), (6, "<", ">="), (7, "&&", "||"), (8, "2", "3"), (10, "==", "!="), (11, "1", "2"),
                 (11, "+=", "-="), (11, "total += 1;", ";"), (28, "5", "6"), (28, "1", "2"), (28, "6", "7"),
                 (30, "+", "-"), (30, "0", "1")]:
        check(site in found, f"{site} is no site")
    lengths = [(28, "3"), (29, "4"), (29, "7")]
    check(not any((line, before) in lengths for line, before, _ in found), "the length of an array is a site")
    check(not any(line in (16, 19) for line, _, _ in found), "a label is a site")


def check_files():
    count = 0
    for path in sorted((TOP / "core" / "base").glob("*.c")):
        text = path.read_text()
        lines = text.split("\n")
        for site in sites.of_file(path.name, text):
            changed = sites.apply(site, text).split("\n")
            differing = [number for number, pair in enumerate(zip(lines, changed), 1) if pair[0] != pair[1]]
            check(differing == [site.line] and len(lines) == len(changed), f"{site.describe()} changes {differing}")
            check(site.statement == 0 or site.body < site.statement <= site.line, f"{site.describe()}: its statement")
            count += 1
    check(count > 1000, f"only {count} sites in core/base")


check_statements()
check_sites()
check_files()
