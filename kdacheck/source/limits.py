"""What one file may cost: counted in bytes, levels and steps, never in seconds, so that every run says the same.

docs/limits.md tells users what these are.
"""

from __future__ import annotations

import re

from kdacheck.source.text import Unreadable

#: Bytes of a file that is parsed: LibCST takes some 400 times as much memory.
MAX_BYTES = 1 << 20

#: Brackets in each other, as in Python itself.
MAX_BRACKETS = 200

#: Brackets in each other in the pattern of a `case`: each doubles the time of LibCST, or worse.
MAX_PATTERN = 8

#: Levels of one expression, operators in a row included.
MAX_LEVELS = 2_000

#: Operators below that many levels count towards the next limit.
DEEP = 20

#: Levels below DEEP, summed over all operators of a file and several times for brackets: LibCST takes more than
#: linear time for them.
MAX_DEEP = 2_100_000

#: `elif` branches: each is nested in the one before.
MAX_ELIFS = 2_000

#: Steps of the interpreter for one file: expressions, names that were copied, values that were compared.
MAX_STEPS = 1_000_000

#: Steps that judging one call by all rules counts for.
JUDGING = 250

#: Values in a value: `x = (x, x)` doubles them.
MAX_PARTS = 100_000


class ExceededError(Unreadable):
    """A file that costs more than it may; the message names the limit."""

    remedy = "split the file, or exclude it"


class Steps:
    """Counts what the interpretation of the file in work has cost. One file is in work at a time."""

    left = MAX_STEPS


def spend(steps: int) -> None:
    """Take steps off what is left for the file in work. Raises ExceededError where that is too much."""
    Steps.left -= steps
    if Steps.left < 0:
        raise ExceededError(f"the file takes more than {MAX_STEPS:,} steps to analyse")


_TOKEN = re.compile(
    r"#[^\r\n]*|\\\r?\n|[\r\n]+|['\"]|[(\[{]|[)\]}]|[,;:]|\b(?:if|else|elif|lambda|not|and|or|await)\b"
    r"|\*\*|//|->|[-+*/%@&|^~.]"
)
_PREFIX = re.compile(r"(?<![^\W_])[A-Za-z]{1,2}\Z")
_CASE = re.compile(r"[ \t\f]*case\b(?![ \t]*[=.,:)])")
_ENDS = {
    quote: re.compile(rf"(?:[^\\\n{quote}]|\\.)*{quote}", re.DOTALL) for quote in ("'", '"')
} | {
    quote * 3: re.compile(rf"(?:[^\\{quote}]|\\.|{quote}(?!{quote}{quote}))*{quote * 3}", re.DOTALL)
    for quote in ("'", '"')
}
_FORMATTED = {
    quote: re.compile(
        rf"\{{\{{|\}}\}}|[{{}}]|\\[^{{}}]|{quote}" + (r"|\n" if len(quote) == 1 else "")
    )
    for quote in _ENDS
}


_NO_BRACKETS = bytes(set(range(256)) - set(b"()[]{}"))


def may_be_deep(data: bytes) -> bool:
    """Whether a file may nest more than some 60 brackets: a quick look, for Python's own parser."""
    brackets = data.translate(None, _NO_BRACKETS)
    for _ in range(30):
        before = len(brackets)
        brackets = brackets.replace(b"()", b"").replace(b"[]", b"").replace(b"{}", b"")
        if len(brackets) == before:
            break
    return sum(map(brackets.count, (b"(", b"[", b"{"))) > 30


def check_nesting(text: str) -> None:
    """Raise ExceededError for a text that is nested more deeply than LibCST can be trusted with."""
    _Nesting(text).check()


class _Nesting:
    """Goes through a text once. `level`: how deep the expression goes where it stands."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.level = 0
        self.base = 0
        #: The brackets around, each with the level before it and the base of what it stands in.
        self.around: list[tuple[int, int]] = []
        #: The formatted strings around: quotes, and how many brackets were open where their expression began.
        self.strings: list[tuple[str, int]] = []
        self.deep = 0
        self.elifs = 0
        self.in_pattern = False

    def check(self) -> None:
        text = self.text
        self.in_pattern = _CASE.match(text) is not None
        at = 0
        while (match := _TOKEN.search(text, at)) is not None:
            at = match.end()
            token = match[0]
            if token in "'\"":
                at = self._string(match.start(), token)
            elif token in "([{":
                self._open(at)
            elif token in ")]}":
                self._close(at)
                if self.strings and len(self.around) < self.strings[-1][1]:
                    at = self._formatted(at, self.strings.pop()[0])
            elif token[0] in "\r\n":
                if not self.around:
                    self.level = self.base = 0
                    self.in_pattern = _CASE.match(text, at) is not None
            elif token in ",;":
                self.level = self.base
            elif token == ":":
                if self.strings and len(self.around) == self.strings[-1][1]:
                    at = self._formatted(at, self.strings[-1][0])
                elif not self.around:
                    self.in_pattern = False
            elif token == "elif":
                self._branch(at)
            elif token[0] not in "#\\":
                self._deeper(at, 1)

    def _open(self, at: int) -> None:
        self.around.append((self.level, self.base))
        self._deeper(at, 5)
        self.base = self.level
        if len(self.around) > MAX_BRACKETS:
            raise self._exceeded(f"more than {MAX_BRACKETS} brackets in each other", at)
        if self.in_pattern and len(self.around) > MAX_PATTERN:
            raise self._exceeded(f"more than {MAX_PATTERN} brackets in each other in a `case`", at)

    def _close(self, at: int) -> None:
        if self.around:
            self.level, self.base = self.around.pop()
            self._deeper(at, 3)

    def _deeper(self, at: int, weight: int) -> None:
        self.level += 1
        if self.level > DEEP:
            self.deep += weight * (self.level - DEEP)
        if self.level > MAX_LEVELS:
            raise self._exceeded(f"more than {MAX_LEVELS:,} levels in an expression", at)
        if self.deep > MAX_DEEP:
            raise self._exceeded("too many deep expressions", at)

    def _branch(self, at: int) -> None:
        self.elifs += 1
        if self.elifs > MAX_ELIFS:
            raise self._exceeded(f"more than {MAX_ELIFS:,} `elif` branches", at)

    def _string(self, start: int, quote: str) -> int:
        """Where a string ends that starts here, or its first expression begins."""
        text = self.text
        if text.startswith(quote * 3, start):
            quote *= 3
        at = start + len(quote)
        prefix = _PREFIX.search(text, max(0, start - 3), start)
        if prefix is not None and set(prefix[0].lower()) & set("ft"):
            return self._formatted(at, quote)
        match = _ENDS[quote].match(text, at)
        if match is not None:
            return match.end()
        end = text.find("\n", at) if len(quote) == 1 else -1
        return len(text) if end < 0 else end

    def _formatted(self, at: int, quote: str) -> int:
        """Go on in the text of a formatted string: up to its end, or the next expression in it."""
        for match in _FORMATTED[quote].finditer(self.text, at):
            token = match[0]
            if token == "{":
                self._open(match.end())
                self.strings.append((quote, len(self.around)))
                return match.end()
            if token == "}" and self.strings and len(self.around) == self.strings[-1][1]:
                self._close(match.end())
                self.strings.pop()
            if token == quote:
                return match.end()
            if token == "\n":
                return match.start()
        return len(self.text)

    def _exceeded(self, what: str, at: int) -> ExceededError:
        message = f"the file is nested too deeply to be analysed: {what}"
        return ExceededError(message, self.text.count("\n", 0, at) + 1)
