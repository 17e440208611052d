"""What a finding is known by from run to run: the code it speaks of, not the line that this stands on."""

from __future__ import annotations

import hashlib
import io
import re
import tokenize

from kdacheck.finding import Finding
from kdacheck.lines import Lines

_SPACE = re.compile(r"\s+")
_TRAILING_COMMA = re.compile(r",(?=[)\]}])")


class Fingerprints:
    """Takes fingerprints that stay while code is moved, indented, commented or laid out anew by a formatter."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._comments: dict[str, dict[int, int]] = {}

    def of(self, finding: Finding) -> str:
        """Sixteen hexadecimal digits: of the rule, the parameter and the statement."""
        whole = "\0".join((finding.code, finding.parameter or "", self._statement(finding)))
        return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    def _statement(self, finding: Finding) -> str:
        first, last = finding.span or (finding.location.row, finding.end_location.row)
        rows = [self._lines.row(finding.filename, row) for row in range(first, last + 1)]
        if any("#" in row for row in rows):
            comments = self._comments_of(finding.filename)
            rows = [row[: comments.get(first + at)] for at, row in enumerate(rows)]
        text = _SPACE.sub("", "".join(rows)).replace("'", '"')
        return _TRAILING_COMMA.sub("", text)

    def _comments_of(self, filename: str) -> dict[int, int]:
        """Row to the column where its comment starts."""
        found = self._comments.get(filename)
        if found is None:
            found = self._comments[filename] = {}
            text = "\n".join(self._lines.of(filename)) + "\n"
            try:
                for token in tokenize.generate_tokens(io.StringIO(text).readline):
                    if token.type == tokenize.COMMENT:
                        found[token.start[0]] = token.start[1]
            except (tokenize.TokenError, SyntaxError):
                pass  # the comments up to there are enough for most
        return found
