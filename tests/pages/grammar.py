#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds docs/grammar.md against byoc.

grammar.py SOURCE BYOC FOLDER: the rules are complete; every word that the parsers ask for stands in them, and every
word in them is one of the sources; every text of tests/ and examples/ that byoc reads, and every example of the page,
follows them; texts that do not are refused by byoc, too; and the table of plans is what `byoc explain` asks for.
"""

import copy
import json
import pathlib
import random
import re
import subprocess
import sys
import zlib

WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*\Z")


def blocks(page, language):
    return re.findall(r"^```%s\n(.*?)^```$" % language, page, re.M | re.S)


# ---- tokens ----


class Lexer:
    """The tokens of the page, as one regular expression."""

    def __init__(self, page, symbols):
        rows = dict(line.split(None, 1) for line in blocks(page, "tokens")[0].splitlines())
        for name, row in rows.items():
            if name != "STRING":
                rows[name] = row.replace("STRING", rows["STRING"])
        parts = [r"(?P<%s>%s)" % row for row in rows.items()]
        parts.append("(?P<SYMBOL>%s)" % "|".join(re.escape(s) for s in sorted(symbols, key=len, reverse=True)))
        self.token = re.compile("|".join(parts))
        self.blank = re.compile(r"(?:[ \t\r\n]|//[^\n]*)*")

    def tokens(self, text):
        """A list of (kind, text); None if some of it is no token."""
        found, at = [], self.blank.match(text).end()
        while at < len(text):
            match = self.token.match(text, at)
            if match is None:
                return None
            found.append((match.lastgroup, match.group()))
            at = self.blank.match(text, match.end()).end()
        return found


# ---- rules ----


class Rules:
    """The rules of the page, as pairs: (all, [...]), (any, [...]), (maybe, x), (many, x), (word, text), (token, NAME),
    (rule, name)."""

    def __init__(self, page):
        self.rules, self.words, self.tokens, self.used = {}, set(), set(), set()
        text = "".join(blocks(page, "ebnf"))
        self.parts = re.findall(r'^[a-z_]+ *(?==)|"[^"]*"|[A-Za-z_]+|[=|()\[\]{}]', text, re.M)
        starts = [i for i, part in enumerate(self.parts) if part == "="]
        for i, start in enumerate(starts):
            name = self.parts[start - 1].strip()
            assert name not in self.rules, "the rule '%s' is there twice" % name
            self.at, self.end = start + 1, starts[i + 1] - 1 if i + 1 < len(starts) else len(self.parts)
            self.rules[name] = self.choice()
            assert self.at == self.end, "the rule '%s' does not end behind %s" % (name, self.parts[self.at - 1])

    def peek(self):
        return self.parts[self.at] if self.at < self.end else None

    def choice(self):
        ways = [self.sequence()]
        while self.peek() == "|":
            self.at += 1
            ways.append(self.sequence())
        return ("any", ways)

    def sequence(self):
        items = []
        while self.peek() not in (None, "|", ")", "]", "}"):
            items.append(self.item())
        return ("all", items)

    def item(self):
        part = self.parts[self.at]
        self.at += 1
        if part in "([{":
            inner, close = self.choice(), {"(": ")", "[": "]", "{": "}"}[part]
            assert self.peek() == close, "expected %s, found %s" % (close, self.peek())
            self.at += 1
            return inner if part == "(" else ("maybe" if part == "[" else "many", inner)
        if part.startswith('"'):
            self.words.add(part[1:-1])
            return ("word", part[1:-1])
        if part.isupper():
            self.tokens.add(part)
            return ("token", part)
        self.used.add(part)
        return ("rule", part)


class Reader:
    """Tells whether tokens follow a rule, by all ways at once."""

    def __init__(self, rules, tokens):
        self.rules, self.tokens, self.known, self.farthest = rules, tokens, {}, 0

    def ends(self, item, at):
        kind, body = item
        if kind == "rule":
            key = (body, at)
            if key not in self.known:
                self.known[key] = frozenset(self.ends(self.rules[body], at))
            return self.known[key]
        if kind == "word" or kind == "token":
            self.farthest = max(self.farthest, at)
            fits = at < len(self.tokens) and self.tokens[at][1 if kind == "word" else 0] == body
            return {at + 1} if fits else set()
        if kind == "any":
            return set().union(*(self.ends(way, at) for way in body))
        if kind == "maybe":
            return {at} | set(self.ends(body, at))
        if kind == "many":
            reached, fresh = {at}, {at}
            while fresh:
                fresh = set().union(*(self.ends(body, place) for place in fresh)) - reached
                reached |= fresh
            return reached
        reached = {at}
        for part in body:
            reached = set().union(*(self.ends(part, place) for place in reached))
        return reached

    def accepts(self, rule):
        return len(self.tokens) in self.ends(("rule", rule), 0)


class Maker:
    """Makes texts that follow a rule, at random."""

    # A name that is there wherever a rule may name one; by rule, where that differs.
    TOKENS = {"WORD": "v", "VALUE": "%v", "GLOBAL": "@v", "INTEGER": "1", "FLOAT": "2.5", "STRING": '"v"'}
    NAMES = {("port", "WORD"): "b", ("load", "WORD"): "b", ("store", "WORD"): "b", ("operator", "GLOBAL"): "@14"}

    def __init__(self, rules, seed):
        self.rules, self.random, self.shared = rules, random.Random(seed), 0

    def make(self, item, depth=0, rule=None):
        kind, body = item
        if kind == "rule" and body == "shared":
            self.shared += 1  # in a statement, the first one of a number has the expression behind it
            return ["#", str(self.shared), "(", *self.make(("rule", "expr"), depth + 1), ")"]
        if kind == "rule":
            self.shared = 0 if body == "statement" else self.shared
            return self.make(self.rules[body], depth + 1, body)
        if kind == "word":
            return [body]
        if kind == "token":
            return [self.NAMES.get((rule, body), self.TOKENS[body])]
        if kind == "any":
            ways = body if depth < 9 else [min(body, key=self.size)]
            return self.make(self.random.choice(ways), depth, rule)
        if kind == "all":
            return [word for part in body for word in self.make(part, depth, rule)]
        times = self.random.randrange(2 if kind == "maybe" else 3) if depth < 9 else 0
        return [word for _ in range(times) for word in self.make(body, depth, rule)]

    def size(self, item):
        """How deep the shortest text of it is, roughly: rules count more than words."""
        kind, body = item
        if kind in ("any", "all"):
            return (min if kind == "any" else sum)([self.size(part) for part in body] or [0])
        return {"rule": 9, "maybe": 0, "many": 0}.get(kind, 1)


# ---- what is held against what ----


class Check:
    def __init__(self, source, byoc, folder):
        self.source, self.byoc, self.folder = pathlib.Path(source), byoc, pathlib.Path(folder)
        self.page = (self.source / "docs/grammar.md").read_text()
        self.rules = Rules(self.page)
        self.lexer = Lexer(self.page, [word for word in self.rules.words if not WORD.match(word)])
        self.faults = 0

    def fault(self, text):
        print(text)
        self.faults += 1

    def run(self, *arguments):
        return subprocess.run([self.byoc, *map(str, arguments)], capture_output=True, text=True, errors="replace")

    def follows(self, text, rule):
        """The sentence that says where the text leaves the rules; None if it follows them."""
        tokens = self.lexer.tokens(text)
        if tokens is None:
            return "it has something that is no token"
        reader = Reader(self.rules.rules, tokens)
        if reader.accepts(rule):
            return None
        behind = " ".join(token[1][:40] for token in tokens[max(0, reader.farthest - 8) : reader.farthest + 1])
        return "it leaves the rules near: %s" % behind

    # Each rule is there once and used; what is used is there.
    def check_rules(self):
        for name in self.rules.used - self.rules.rules.keys():
            self.fault("the rule '%s' is used and not there" % name)
        for name in self.rules.rules.keys() - self.rules.used - {"module", "kernel", "host", "pattern"}:
            self.fault("the rule '%s' is there and not used" % name)
        for name in self.rules.tokens - {"WORD", "VALUE", "GLOBAL", "INTEGER", "FLOAT", "STRING"}:
            self.fault("there is no token %s" % name)

    # The limits that the page states are those of the sources.
    def check_limits(self):
        sources = "".join(path.read_text() for path in (self.source / "core/ir").rglob("*.[ch]"))
        for pattern, sentence, less in ((r"#define BYOC_MAX_RANK +(\d+)", "at most %d dimensions", 0),
                                        (r"#define BYOC_LEXER_MAX_DEPTH +(\d+)", "at most %d deep", 0),
                                        (r"#define MAX_NUMBER_SIZE +(\d+)", "at most %d characters", 1)):
            sentence %= int(re.search(pattern, sources).group(1)) - less
            if sentence not in self.page.replace("\n", " "):
                self.fault("the page does not say '%s'" % sentence)

    # The words that parsers ask for, by their names in the sources and in their lists.
    def check_words(self):
        files = [p for room in ("ir", "hostir") for p in (self.source / "core" / room).rglob("*.[ch]")]
        asked, literals = set(), set()
        for path in files:
            text = path.read_text()
            asked |= set(re.findall(r'byoc_lexer_(?:accept|expect|is)_word\([^,()]+, "([^"]+)"', text))
            if "parse" in path.name:
                asked |= set(re.findall(r'strcmp\((?:word|name), "([^"]+)"\) == 0', text))
            literals |= set(re.findall(r'"([A-Za-z_0-9.]+)"', text))
        assert len(asked) > 100, "only %d words were found in the parsers" % len(asked)
        lists = {"DTYPE_LIST": 2, "HOST_OP_LIST": 1, "RELATION_LIST": 1, "CONTAINER_LIST": 0, "REDUCTION_LIST": 2,
                 "RUNTIME_MODULE_KIND_LIST": 1, "HOST_QUEUE_LIST": 1, "HOST_ARGUMENT_LIST": 1, "COLLECTIVE_LIST": 2}
        for path in [*(self.source / "core").rglob("*.h"), *(self.source / "include").rglob("*.h")]:
            text = path.read_text()
            for name in lists:
                for body in re.findall(r"#define BYOC_%s\(X\)(.*?[^\\])\n" % name, text, re.S):
                    words = set(re.findall(r'X\([^()"]*"([^"]+)"', body))
                    assert words, "BYOC_%s is empty" % name
                    lists[name], literals = None, literals | words
                    if name != "COLLECTIVE_LIST":  # names of collectives stand in the prose
                        asked |= words
        for name, left in lists.items():
            assert left is None, "BYOC_%s is not found" % name
        operators = next((self.source / "core").rglob("loop_op.def")).read_text()
        asked |= set(re.findall(r'BYOC_LOOP_OP_ROW\([A-Z0-9_]+, "([^"]+)"', operators))
        literals |= asked
        unwritten = {"elided", "fresh"}  # printed only; never written
        for word in sorted(asked - self.rules.words - unwritten):
            self.fault("a parser asks for '%s', which no rule has" % word)
        for word in sorted(word for word in self.rules.words - literals if WORD.match(word) and word != "_"):
            self.fault("a rule has '%s', for which no parser asks" % word)

    # Modules and host programs of tests and examples, those that a fixture expects among them.
    def texts(self):
        for path in [p for folder in ("tests", "examples") for p in sorted((self.source / folder).rglob("*.*"))]:
            if path.suffix not in (".byoc", ".host"):
                continue
            text = path.read_text(errors="surrogateescape")
            for part in re.split(r"^// (?:EXPECT|ERROR)[^\n]*$", text, flags=re.M):
                first = re.match(r"(?:\s|//[^\n]*\n)*(module|host)\b", part)
                if first:
                    yield path, first.group(1), part

    # Texts that byoc reads follow the rules.
    def check_texts(self):
        counts = {"module": 0, "host": 0}
        for path, rule, text in self.texts():
            why = self.follows(text, rule)
            copied = self.folder / ("text" + path.suffix)
            if why is None:
                counts[rule] += 1
                continue
            copied.write_text(text, errors="surrogateescape")
            if self.run("opt", copied).returncode == 0:
                self.fault("%s: byoc reads it, but %s" % (path, why))
        assert counts["module"] > 200 and counts["host"] > 30, "only %s texts were found" % counts
        print("%(module)d modules and %(host)d host programs follow the rules" % counts)

    # Patterns of the tests' rules follow the rules of the page; byoc reads what is made of small parts of them.
    def check_patterns(self):
        found = set()
        for path in (self.source / "tests").rglob("*.byoc"):
            found |= set(re.findall(r"^// RULE: .*? := (?!group )(.*)$", path.read_text(errors="replace"), re.M))
        for path in [p for folder in ("plugins", "examples") for p in (self.source / folder).rglob("*.json")]:
            found |= set(json.loads('"%s"' % t)
                         for t in re.findall(r'"pattern": "((?:[^"\\]|\\.)*)"', path.read_text()))
        assert len(found) > 20, "only %d patterns were found" % len(found)
        types = ("", "<f32>", "<_,4>", "<f32|f16,2>", "<|f32>")
        tests = ("", "[perm=[1,0]]", '[a=["x"],b=-1.5]', "[a=[]]", "[=1]")
        made = set("n:%s%s%s(%s)%s" % (name, t, test, inputs, result) for name in ("A", "{A|b::C}", "{A|}")
                   for t in types for test in tests for inputs in ("%x, ...", "@, %x<f32>, _", "%x,")
                   for result in ("", "#_"))
        for pattern in sorted(found) + sorted(made):
            why = self.follows(pattern, "pattern")
            if pattern in found and why:
                self.fault("the pattern %s: %s" % (pattern, why))
            if pattern in made and hash_of(pattern) % 9 == 0:
                self.check_pattern(pattern, why)
        print("%d patterns follow the rules" % len(found))

    # byoc reads the pattern if it follows the rules, and refuses its form otherwise.
    def check_pattern(self, pattern, why):
        path = self.folder / "pattern.json"
        path.write_text(json.dumps({"target": "made", "description": "a made pattern",
                                    "library": {"sources": ["none.c"]}, "rules": [{
                                        "name": "made.n", "pattern": pattern, "packed": "f",
                                               "operands": ["x"]}]}))
        (self.folder / "none.c").write_text("int f(const void *call); int f(const void *call) { return call == 0; }\n")
        text = self.run("plugins", "--plugin", path)
        is_refused = "expected" in text.stdout + text.stderr
        if is_refused != (why is not None):
            said = "refuses" if is_refused else "reads"
            self.fault("the pattern %s: byoc %s it\n%s%s" % (pattern, said, text.stdout, text.stderr))

    def check_examples(self):
        for language, rule, command in (("byoc", "module", ["opt"]), ("host", "host", ["build", "-t", "c", "-o"])):
            examples = blocks(self.page, language)
            assert examples, "the page has no example in %s" % language
            for example in examples:
                path = self.folder / ("example." + language)
                path.write_text(example)
                why = self.follows(example, rule)
                if why:
                    self.fault("an example of the page: %s\n%s" % (why, example))
                output = [self.folder / "example.so"] if command[-1] == "-o" else []
                result = self.run(*command, *output, path)
                if result.returncode != 0:
                    self.fault("byoc refuses an example of the page:\n%s\n%s" % (example, result.stderr))

    # What byoc prints follows the rules.
    def check_printed(self):
        paths = [*sorted((self.source / "examples").rglob("*.byoc")), self.folder / "example.byoc"]
        count = 0
        for path in paths:
            for form, rule in (("ir", "module"), ("host", "host")):
                printed = self.run("build", path, "-t", "c", "--emit=" + form, "--constants")
                if printed.returncode != 0:
                    continue  # an operator of a plugin
                count += 1
                why = self.follows(printed.stdout, rule)
                if why:
                    self.fault("byoc build %s --emit=%s: %s" % (path, form, why))
        assert count > 12, "only %d texts were printed" % count
        print("%d texts that byoc prints follow the rules" % count)

    # Without one of its tokens a text mostly leaves the rules; then byoc must refuse it.
    def check_damage(self):
        tried = 0
        for language, rule in (("byoc", "module"), ("host", "host")):
            for example in blocks(self.page, language):
                words = [token[1] for token in self.lexer.tokens(example)]
                for i in range(0, len(words), 3):
                    text = " ".join(words[:i] + words[i + 1 :])
                    if self.follows(text, rule) is None:
                        continue
                    path = self.folder / ("damaged." + language)
                    path.write_text(text)
                    tried += 1
                    if self.run("opt", path).returncode == 0:
                        self.fault("byoc reads a text that leaves the rules, without its '%s':\n%s" % (words[i], text))
        assert tried > 60, "only %d texts left the rules" % tried
        print("%d damaged texts are refused" % tried)

    # Texts made of the rules at random mostly mean nothing, but no parser finds a token where it expects another one.
    def check_made(self):
        module = ("module {\n constant @v : f32[1] = [1.0]\n func @main(%v : f32[2]) -> (%y : f32[2]) {\n"
                  " MADE return %y\n }\n}\n")
        kernel = ("module {\n kernel func @k(%v : f32[2]) -> (f32[2]) loops {\n"
                  ' name "k" input a : f32[2] output b : f32[2]\n var v : i64 = 0\n MADE }\n}\n')
        host = ('host program "main" {\n symbol v\n device %v = "host" 0 type 1\n queue %v[2] on %v\n'
                " event %v[2] on %v\n local %v : f32[4]\n MADE\n}\n")
        templates = (("type", "module {\n func @main(%v : MADE) -> () {\n return\n }\n}\n", "byoc"),
                     ("on", module.replace("MADE", "%y = Relu@14(%v) : f32[2] MADE"), "byoc"),
                     ("attributes", module.replace("MADE", "%y = Relu@14(%v) MADE : f32[2]"), "byoc"),
                     ("block", module.replace("MADE", "%y = If@16(%v) [MADE] : f32[2]"), "byoc"),
                     ("statement", kernel, "byoc"), ("instruction", host, "host"),
                     ("part", host.replace("MADE", "") + "MADE", "host"))
        tried = {}
        for rule, template, language in templates:
            for seed in range(40):
                made = Maker(self.rules.rules, seed).make(("rule", rule))
                text = template.replace("MADE", " ".join(made))
                path = self.folder / ("made." + language)
                path.write_text(text)
                result = self.run("opt", path)
                tried[rule] = tried.get(rule, 0) + 1
                if re.search(r"expected .*, found", result.stderr) and not self.is_of_meaning(result.stderr):
                    self.fault("byoc refuses a text that follows the rule '%s':\n%s\n%s" % (rule, text, result.stderr))
        print("%d texts made of the rules are read to their meaning" % sum(tried.values()))

    # What a name or a type asks for is a matter of meaning.
    @staticmethod
    def is_of_meaning(message):
        return re.search(r"expected (an integer|a number|a string|true or false|a reduction|'root'|'to'|','),", message)

    # ---- plans ----

    def refuses(self, plan):
        path = self.folder / "plan.json"
        path.write_text(json.dumps(plan))
        return self.run("explain", path).returncode != 0

    def check_plans(self):
        rows = re.findall(r"^\| (plan|budget|point|rival|block|node|edge|region|candidate|decline) \| `(\w+)` \|.*\|([^|]*)\|$",
                          self.page, re.M)
        members = {}
        for kind, name, is_required in rows:
            members.setdefault(kind, {})[name] = is_required.strip() == "required"
        block = {"name": "main", "hash": "0123456789abcdef", "cost_ns": 3.0, "transition_ns": 0.0,
                 "lower_bound_ns": 1.0, "proven": True,
                 "nodes": [{"op": "Relu", "name": "r", "type": "f32[2]", "edges": []},
                           {"op": "Neg", "name": "n", "type": "f32[2]", "edges": [{"from": 0, "type": "f32[2]"}]}],
                 "regions": [{"target": 0, "rule": "c", "nodes": [0], "candidate": 0, "cost_ns": 1.0,
                             "source": "measured", "given_back": False, "later": False,
                             "precision": "f32", "lapse": "l", "moved_bytes": 8.0, "energy_nj": 1.0, "error": 0.1}],
                 "candidates": [{"target": 0, "rule": "c", "nodes": [0], "cost_ns": None, "source": "estimate",
                                 "reason": "r", "given_back": False, "chosen": True, "moved_bytes": 8.0,
                                 "energy_nj": 1.0, "error": 0.1}],
                 "declines": [{"target": 0, "rule": "c", "nodes": [1], "reason": "none"}]}
        whole = {"format": "byoc plan", "version": 1, "model": "m", "strategy": "s", "whole_ns": 1.0, "whole_mib": 1.0,
                 "max_nodes": 6, "max_depth": 6, "targets": ["c"],
                 "rivals": [{"name": "c", "sum_ns": 1.0, "whole_ns": 1.0, "whole_mib": 1.0, "error": 0.1}],
                 "budget": {"allowed": 0.1, "measured": 0.05, "promised": 0.07, "samples": 8, "generated": True,
                            "curve": [{"cost_ns": 1.0, "error": 0.1}]}, "blocks": [block]}
        places = {"plan": [], "rival": ["rivals", 0], "block": ["blocks", 0], "node": ["blocks", 0, "nodes", 1],
                  "edge": ["blocks", 0, "nodes", 1, "edges", 0], "region": ["blocks", 0, "regions", 0],
                  "candidate": ["blocks", 0, "candidates", 0], "decline": ["blocks", 0, "declines", 0], "budget": ["budget"], "point": ["budget", "curve", 0]}
        assert not self.refuses(whole), "byoc refuses the plan that has all members"
        for kind, place in places.items():
            def changed(change):
                plan = copy.deepcopy(whole)
                at = plan
                for step in place:
                    at = at[step]
                change(at)
                return plan
            at = whole
            for step in place:
                at = at[step]
            for name in at.keys() ^ members[kind].keys():
                self.fault("the table and the test differ in '%s' of a %s" % (name, kind))
            if not self.refuses(changed(lambda o: o.update(another=1))):
                self.fault("a %s may have any member" % kind)
            for name, is_required in members[kind].items():
                # Whoever refers to a list by numbers needs it.
                needed = is_required or (kind, name) == ("block", "candidates")
                if self.refuses(changed(lambda o: o.pop(name))) != needed:
                    self.fault("'%s' of a %s is %s" % (name, kind, "optional" if is_required else "required"))
        self.check_saved_plan(members)
        print("%d members of plans are as the table says" % len(rows))

    # A plan that byoc saves has no other members than the table.
    def check_saved_plan(self, members):
        path = self.folder / "saved.json"
        result = self.run("explain", self.folder / "example.byoc", "-t", "c", "--plan", "greedy", "--save-plan", path)
        assert result.returncode == 0, result.stderr
        kinds = {"rivals": "rival", "blocks": "block", "nodes": "node", "edges": "edge", "regions": "region",
                 "candidates": "candidate", "declines": "decline"}

        def walk(kind, item):
            for name, value in item.items():
                if name not in members[kind]:
                    self.fault("a saved plan has '%s' in a %s, which is not in the table" % (name, kind))
                for inner in value if isinstance(value, list) else []:
                    if isinstance(inner, dict):
                        walk(kinds[name], inner)

        walk("plan", json.loads(path.read_text()))


def hash_of(text):
    return zlib.crc32(text.encode())


def main():
    sys.setrecursionlimit(20000)
    check = Check(*sys.argv[1:4])
    check.folder.mkdir(parents=True, exist_ok=True)
    check.check_rules()
    if check.faults == 0:
        for part in (check.check_limits, check.check_words, check.check_texts, check.check_patterns,
                     check.check_examples,
                     check.check_printed, check.check_damage, check.check_made, check.check_plans):
            part()
    return 1 if check.faults else 0


if __name__ == "__main__":
    sys.exit(main())
