# SPDX-License-Identifier: Apache-2.0
"""Where a C file can be changed by one small step, and into what.

The files are laid out by clang-format, so that words and lines are enough: a binary operator stands between spaces or
at the end of a line, a function's body opens with a line that ends in `{` and closes with a line that is `}`. What
comes out may still not compile; whoever draws it then draws another.
"""
import dataclasses
import re

OPERATORS = {
    " <": [" <=", " >="], " <=": [" <", " >"], " >": [" >=", " <="], " >=": [" >", " <"],
    " ==": [" !="], " !=": [" =="], " &&": [" ||"], " ||": [" &&"],
    " +": [" -"], " -": [" +"], " *": [" +"], " /": [" *"], " %": [" /"],
    " +=": [" -="], " -=": [" +="], " |=": [" &="], " &=": [" |="],
}
# A line may end with an operator.
OPERATOR = re.compile("(?:" + "|".join(re.escape(word) for word in OPERATORS) + ")(?= |$)")
NUMBER = re.compile(r"(?<![\w.\"'])(\d+\.\d*f?|\d+)(?![\w.])")
TRUTH = re.compile(r"\b(true|false)\b")
# Assertions are not in a release build, and one byte more for a text changes nothing.
UNSEEN = re.compile(r"\s*(?:assert\(.*|(?:static )?char \w+\[[^\]]*\](?:, \w+\[[^\]]*\])*);$")
# What may stand in front of a number that is the length of an array, on the line that declares it.
DECLARED = re.compile(r"\s+(?:static |const |unsigned )*(?!return\b|else\b|goto\b|case\b)\w+ (?:.*, )?"
                      r"\**\w+(?:\[\w+\])*\[$")
CONDITION = re.compile(r"\b(?:if|while) \(")
# An assignment or a call that stands as a statement of its own.
STATEMENT = re.compile(r"^(\s+)(?!return|goto|break|continue|case|default|else|if|for|while|do\b)"
                       r"(?:[\w.\->\[\]*()]+ (?:[+\-*/|&]?= ).*|\*?[\w.\->\[\]]+\(.*\)|[\w.\->\[\]]+(?:\+\+|--)"
                       r"|(?:\+\+|--)[\w.\->\[\]]+);$")


@dataclasses.dataclass(frozen=True)
class Site:
    file: str          # from the top of the tree
    line: int          # from 1
    column: int        # from 0
    before: str        # this text there ...
    after: str         # ... becomes this
    body: int          # the line that opens the function's body; 0: the site is in no function, but in a table
    statement: int = 0  # the line of a statement that is run just before it, or with it; 0: none but the function

    def describe(self):
        return f"{self.file}:{self.line}:{self.column + 1}: '{self.before.strip()}' to '{self.after.strip()}'"


def without_texts(lines):
    """The lines with comments, texts and characters blanked out, column by column."""
    blank, inside = [], False
    for line in lines:
        out, i = [], 0
        while i < len(line):
            if inside:
                end = line.find("*/", i)
                stop = len(line) if end < 0 else end + 2
                out.append(" " * (stop - i))
                inside, i = end < 0, stop
            elif line.startswith("//", i):
                out.append(" " * (len(line) - i))
                i = len(line)
            elif line.startswith("/*", i):
                inside = True
            elif line[i] in "\"'":
                stop = i + 1
                while stop < len(line) and line[stop] != line[i]:
                    stop += 2 if line[stop] == "\\" else 1
                stop = min(stop + 1, len(line))
                out.append("\"" * (stop - i))
                i = stop
            else:
                out.append(line[i])
                i += 1
        blank.append("".join(out))
    return blank


def bodies(lines):
    """For each line, the number of the line that opens the body of the function around it; 0 outside of functions."""
    around, opened, head = [], 0, ""
    for number, line in enumerate(lines, 1):
        if opened == 0:
            if line[:1].strip() and line[0] not in "#}":
                head = line
            ends_head = line.rstrip().endswith(") {")
            around.append(0)
            if ends_head and re.match(r"[a-z]", head) and " = " not in head:
                opened = number
        else:
            around.append(0 if line.startswith("}") else opened)
            if line.startswith("}"):
                opened = 0
    return around


def statements(lines, around):
    """For each line of a function's body, the line on which a statement begins that is run just before it, or with it;
    0 where no line shows one."""
    indents = [len(line) - len(line.lstrip()) for line in lines]
    begins, depth, last = [], 0, ";"  # parentheses that are open, and the last line with something on it
    for i, line in enumerate(lines):
        text = line.strip()
        if around[i] == 0:
            begins.append(0)
            depth, last = 0, ";"
            continue
        follows = last.endswith((";", "}", ":")) or re.search(r"(\)|\belse|\bdo|^) \{$|^\{$", last)
        if depth == 0 and follows and text and not re.match(r"[{}#]|else\b|case\b|default:|\w+:$", text):
            begins.append(i + 1)
        else:  # goes on with a statement, belongs to a condition, or closes a block: what was run before that began
            above = i - 1
            while above >= around[i] and (begins[above] != above + 1 or indents[above] > indents[i]):
                above -= 1
            begins.append(above + 1 if above >= around[i] else 0)
        depth += line.count("(") - line.count(")")
        last = text or last
    return begins


def closing(line, start):
    """The column of the parenthesis that closes the one at `start`, on the same line; -1 where there is none."""
    depth = 0
    for i in range(start, len(line)):
        depth += (line[i] == "(") - (line[i] == ")")
        if depth == 0:
            return i
    return -1


def other_number(text):
    if "." in text:
        suffix = "f" if text.endswith("f") else ""
        return f"{float(text.rstrip('f')) * 2 + 1}{suffix}"
    return str(int(text) + 1)


def is_length(line, match):
    """Is this number the length of an array that the line declares? One element more changes nothing."""
    before = line[:match.start()]
    in_braces = before.count("{") != before.count("}") or before.count("(") != before.count(")")
    return not in_braces and DECLARED.match(before) is not None and line[match.end():match.end() + 1] == "]"


def of_file(name, text):
    """All sites of a file."""
    source = text.split("\n")
    lines = without_texts(source)
    around = bodies(lines)
    begins = statements(lines, around)
    directive = False
    for number, line in enumerate(lines, 1):
        was_directive, directive = directive, (directive or line.startswith("#")) and source[number - 1].endswith("\\")
        if line.startswith("#") or was_directive or re.match(r"\s*(case .*|default):", line) \
                or UNSEEN.match(line):
            continue
        body, statement = around[number - 1], begins[number - 1]

        def site(column, before, after):
            return Site(name, number, column, before, after, body, statement)

        for match in OPERATOR.finditer(line):
            for after in OPERATORS[match.group()]:
                yield site(match.start(), match.group(), after)
        for match in NUMBER.finditer(line):
            if is_length(line, match):
                continue
            yield site(match.start(), match.group(), other_number(match.group()))
        for match in TRUTH.finditer(line):
            yield site(match.start(), match.group(), "false" if match.group() == "true" else "true")
        if body == 0:
            continue
        for match in CONDITION.finditer(line):
            end = closing(line, match.end() - 1)
            if end > 0:
                before = source[number - 1][match.end() - 1:end + 1]
                yield site(match.end() - 1, before, f"(!{before})")
        match = STATEMENT.match(line)
        if match:
            column = len(match.group(1))
            yield site(column, source[number - 1][column:], ";")


def apply(site, text):
    lines = text.split("\n")
    line = lines[site.line - 1]
    assert line[site.column:].startswith(site.before)
    lines[site.line - 1] = line[:site.column] + site.after + line[site.column + len(site.before):]
    return "\n".join(lines)
