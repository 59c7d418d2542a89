#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""links.py ROOT [FOLDER...]: every link of the pages below ROOT, or below these folders of it, leads to a file or
folder below ROOT, and every anchor to a heading. Without folders, ROOT is the tree of the sources, and every source
file that a page of docs names in `code` is there, too."""

import os
import pathlib
import re
import sys
import tempfile
import urllib.parse

LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
REFERENCE = re.compile(r"^ {0,3}\[[^\]]+\]:\s*<?(\S+?)>?\s*$", re.M)
TAG = re.compile(r"<(?:a|img|source)\b[^>]*?\b(?:href|src|srcset)=\"([^\"\s]+)\"")
SKIPPED = {"build", ".git", "node_modules", "__pycache__"}


def without_code(text):
    """The text without fenced and indented blocks of code and without `code`."""
    text = re.sub(r"^( *)(```+|~~~+).*?^\1\2[ \t]*$", "", text, flags=re.M | re.S)
    text = re.sub(r"(?:\A|(?<=\n\n))(?: {4}[^\n]*\n)+", "\n", text)
    return re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text, flags=re.S)


def anchors(text):
    """The names that headings have in the page, as GitHub makes them."""
    text = re.sub(r"^( *)(```+|~~~+).*?^\1\2[ \t]*$", "", text, flags=re.M | re.S)
    found, counts = set(re.findall(r"<a\s+(?:id|name)=\"([^\"]+)\"", text)), {}
    for heading in re.findall(r"^#{1,6} +(.*?) *#*$", text, re.M):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        name = re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")
        counts[name] = counts.get(name, 0) + 1
        found.add(name if counts[name] == 1 else "%s-%d" % (name, counts[name] - 1))
    return found


def fault_of(root, page, target):
    if re.match(r"(?:https?|mailto):", target):
        return None
    path, _, anchor = target.partition("#")
    file = (page.parent / urllib.parse.unquote(path)).resolve() if path else page.resolve()
    if not file.is_relative_to(root):
        return "leads out of the tree"
    if not file.exists():
        return "leads nowhere"
    if not anchor:
        return None
    if file.suffix != ".md":
        return "has an anchor in what is no page"
    return None if anchor in anchors(file.read_text()) else "leads to no heading of %s" % file.name


def pages_below(folder):
    """The pages, in the order of their names. Tests make and remove folders below the skipped ones meanwhile."""
    pages = []
    for path, names, files in os.walk(folder):
        names[:] = [name for name in names if name not in SKIPPED]
        pages += [pathlib.Path(path) / name for name in files if name.endswith(".md")]
    return sorted(pages)


def check(root, folders):
    """The number of links, and a sentence for each that leads nowhere."""
    root, count, faults = pathlib.Path(root).resolve(), 0, []
    for folder in folders or ["."]:
        for page in pages_below(root / folder):
            text = without_code(page.read_text())
            for target in LINK.findall(text) + REFERENCE.findall(text) + TAG.findall(text):
                count += 1
                fault = fault_of(root, page, target)
                if fault:
                    faults.append("%s: the link to '%s' %s" % (page.relative_to(root), target, fault))
    return count, faults


def check_sources(root):
    """A sentence for each file of the sources that a page names and that is not there."""
    root, count, faults = pathlib.Path(root).resolve(), 0, []
    for page in sorted(root.glob("docs/*.md")) + sorted(root.glob("*.md")):
        for name in re.findall(r"`((?:core|plugins|tools|tests|include|cmake)/[\w./-]+\.\w+)`", page.read_text()):
            count += 1
            if not (root / name).exists():
                faults.append("%s: there is no file '%s'" % (page.relative_to(root), name))
    assert count > 20, "only %d source files are named" % count
    return faults


def check_itself():
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "page.md"
        page.write_text("# Some `head`, here\n\n```\n[x](code)\n# no head\n```\n\n`[x](code)` "
                        "[a](page.md#some-head-here)\n"
                        "[b](none.md) [c](#no-head) [d](../out.md) [e](page.md \"title\") [f](https://example.org)\n"
                        "<img src=\"none.svg\">\n\n[g]: gone.md\n")
        count, faults = check(folder, [])
        words = [re.search("'(.*)'", fault).group(1) for fault in faults]
        assert count == 8 and words == ["none.md", "#no-head", "../out.md", "gone.md", "none.svg"], (count, faults)


def main():
    check_itself()
    count, faults = check(sys.argv[1], sys.argv[2:])
    faults += [] if sys.argv[2:] else check_sources(sys.argv[1])
    print("\n".join(faults) or "%d links lead somewhere" % count)
    if count < 50:
        print("only %d links were found" % count)
    return 1 if faults or count < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
