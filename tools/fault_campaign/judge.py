# SPDX-License-Identifier: Apache-2.0
"""Says whether a command took a fault as it should: it worked and the result is right, or it gave the true reason and
left nothing behind; and whether the cache still serves the next one."""
import dataclasses
import re
import signal

# What the reason must say, by kind of fault; the dynamic linker and SQLite have words of their own.
LINKER = "cannot create shared object descriptor|cannot create object list|cannot open shared object file"
MEMORY = "memory|" + LINKER
INPUT = "input/output error|disk i/o error"
FULL = "no space left|disk i/o error|database or disk is full|unable to open database"
REASONS = {
    "memory": MEMORY, "mmap": MEMORY + "|disk i/o error", "open": "too many open files|unable to open database", "read": INPUT,
    "write": FULL, "close": INPUT, "fsync": INPUT, "folder": FULL, "rename": INPUT,
    "fork": "resource temporarily unavailable", "thread": "resource temporarily unavailable",
    "clock": "longer than|more than|time", "disk": FULL, "full": FULL,
}
# Where foreign code runs, the command tells of a crash and ends with 1 (core/base/foreign.h).
CRASH = re.compile(r" crashed in its [^\n]*: (SIG[A-Z]+) ")
PAIR = ("out/model.so", "out/model.h")
WITHOUT_COSTS = "costs of this build are not kept"  # a warning: another plan may be chosen then


@dataclasses.dataclass
class Reference:
    """What the command does without a fault."""
    text: str
    outputs: dict


# How the dynamic linker ends the process where it gets no memory while it loads a library: status and what is said.
END_OF_LINKER = "its exit status is 127"
LAST_WORDS_OF_LINKER = re.compile(r"^(out of memory|cannot allocate memory for thread-local data: ABORT)$", re.MULTILINE)


def is_known(stage, kind, finding, errors):
    """Is this an end that the dynamic linker makes by itself? Only where the libraries of backends are loaded."""
    if not stage.loads_libraries or kind not in ("memory", "mmap"):
        return False
    return finding == END_OF_LINKER and LAST_WORDS_OF_LINKER.search(errors) is not None


def last_line(text):
    lines = [line for line in text.strip().splitlines() if not line.startswith("hint:")]
    return lines[-1][-200:] if lines else ""


def judge_end(outcome, kind, where):
    """Findings about the exit status and the message."""
    if outcome.status is None:
        return ["it hangs"]
    crash = CRASH.search(outcome.errors)
    if outcome.status < 0 or crash is not None:
        number = -outcome.status if crash is None else signal.Signals[crash[1]].value
        return [f"it ends by signal {number}"]
    if outcome.status > 1:
        return [f"its exit status is {outcome.status}"]
    found = []
    if re.search(r"\binternal\b", outcome.errors, re.IGNORECASE) and where != "programs":
        found.append("it calls the fault internal")
    if outcome.status == 1:
        said = (outcome.errors + outcome.text).strip()
        if not said:
            found.append("it fails without a word")
        elif not says(kind, where, said):
            found.append("it gives another reason")
    return found


def says(kind, where, text):
    # What a program says about its own faults is passed on; a compiler may abort without a word.
    reason = "failed: |was ended by " if where == "programs" else REASONS[kind]
    return re.search(reason, text, re.IGNORECASE) is not None


def judge_result(stage, outcome, outputs, reference, kind=None, may_differ=()):
    """Findings about what a command that worked has made, whatever call of the kind failed. The content of outputs in
    `may_differ` is not compared."""
    found = []
    is_told = stage.result == "told" and kind is not None and says(kind, "command", outcome.errors + outcome.text)
    if stage.result in ("text", "told") and outcome.text != reference.text and not is_told:
        found.append("it prints something else")
    if stage.result == "sum" and outcome.text.split("\n")[0] != reference.text.split("\n")[0]:
        found.append("it computes something else")
    for name, content in outputs.items():
        if content is None or content == "old":
            found.append(f"it worked but did not write {name}")
        elif (stage.result == "files" and content != reference.outputs[name] and name not in may_differ
              and WITHOUT_COSTS not in outcome.errors):
            found.append(f"{name} differs")
    return found


def judge_outputs_of_failure(stage, outputs, reference, may_differ=False):
    """Findings about the outputs of a command that failed. Each is whole; those of the pair are both as before or, where
    it failed later, both new. A command that was killed, or could not rename any more, may have put one of the pair in
    place (`may_differ`)."""
    found = []
    before = "old" if stage.over else None
    for name, content in outputs.items():
        is_whole = content == before or content == reference.outputs[name] or stage.result != "files"
        if content is not None and not is_whole:
            found.append(f"{name} is half-made")
        if content is None and stage.over:
            found.append(f"the older {name} is gone")
    if len({outputs[name] == before for name in PAIR if name in outputs}) > 1 and not may_differ:
        found.append("one of artifact and header is new, the other is not")
    return found


def judge_left_behind(names):
    # Names carry numbers of processes and random letters.
    return ["it leaves behind " + ", ".join(sorted({re.sub(r"(\d+-\d+|[.-][A-Za-z0-9]{6})(?=$|/)", "*", n)
                                                     for n in names}))] if names else []
