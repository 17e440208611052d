"""Patterns of paths, read as git reads a .gitignore."""

from __future__ import annotations

import re
from collections.abc import Iterable

_SPECIAL = re.compile(r"[*?\[\\]")


class Patterns:
    """The lines of one file of patterns, relative to one folder; the last line that matches a path decides.

    Names without wildcards, the most common lines, cost a look into a table each, however many there are.
    """

    __slots__ = ("_any", "_globs", "_names", "_negated", "_paths")

    def __init__(self, lines: Iterable[str]) -> None:
        self._negated: list[bool] = []
        self._names: dict[str, list[tuple[int, bool]]] = {}
        self._paths: dict[str, list[tuple[int, bool]]] = {}
        self._globs: list[tuple[int, bool, re.Pattern[str]]] = []
        for line in lines:
            self._add(line)
        self._globs.reverse()
        parts = (f"(?:{glob.pattern})" for _, _, glob in self._globs)
        self._any = re.compile("|".join(parts), re.DOTALL) if self._globs else None

    def _add(self, line: str) -> None:
        line = re.sub(r"(?<!\\) +$", "", line.removesuffix("\r"))
        if not line or line.startswith("#"):
            return
        negated = line.startswith("!")
        line = line[negated:]
        folder_only = line.endswith("/")
        pattern = line.removesuffix("/")
        anchored = "/" in pattern
        pattern = pattern.removeprefix("/")
        if not pattern:
            return
        index = len(self._negated)
        if not _SPECIAL.search(pattern):
            table = self._paths if anchored else self._names
            table.setdefault(pattern, []).append((index, folder_only))
        else:
            try:
                text = _translated(pattern, anchored)
                self._globs.append((index, folder_only, re.compile(text, re.DOTALL)))
            except (ValueError, re.error):
                return  # git has such a line match nothing
        self._negated.append(negated)

    def match(self, path: str) -> bool | None:
        """True for a match, False where a `!line` takes it back, None where no line speaks of this path.

        The path is relative, with forward slashes; that of a folder ends in one. Folders above it are not asked.
        """
        is_folder = path.endswith("/")
        bare = path[:-1] if is_folder else path
        best = -1
        name = bare.rpartition("/")[2]
        for found in (self._names.get(name), self._paths.get(bare)):
            for index, folder_only in found or ():
                if index > best and (is_folder or not folder_only):
                    best = index
        if self._any is not None and self._any.fullmatch(bare):
            for index, folder_only, glob in self._globs:
                if index < best:
                    break
                if (is_folder or not folder_only) and glob.fullmatch(bare):
                    best = index
                    break
        return None if best < 0 else not self._negated[best]

    def covers(self, path: str) -> bool:
        """Whether the path or a folder above it is matched; below a matched folder nothing can be taken back."""
        end = path.find("/")
        while 0 <= end < len(path) - 1:
            if self.match(path[: end + 1]):
                return True
            end = path.find("/", end + 1)
        return bool(self.match(path))


def _translated(pattern: str, anchored: bool) -> str:
    """A pattern as the source of a regular expression for the whole path.

    What comes before the last star of a kind is taken where it fits first, and never tried elsewhere: the next star
    takes what is between, and time stays bounded.
    """
    #: Split at `**/`, and each of these at the other stars.
    chunks = [[""]]
    starts_anywhere = not anchored
    position, end = 0, len(pattern)
    while position < end:
        char = pattern[position]
        position += 1
        if char == "*":
            stars = position - 1
            while position < end and pattern[position] == "*":
                position += 1
            starts_part = stars == 0 or pattern[stars - 1] == "/"
            whole_part = anchored and position - stars == 2 and starts_part
            if whole_part and pattern[position:][:1] == "/":
                position += 1
                if chunks == [[""]]:
                    starts_anywhere = True
                elif chunks[-1] != [""]:
                    chunks.append([""])
            elif whole_part and position == end:
                chunks[-1][-1] += ".+"
            else:
                chunks[-1].append("")
        elif char == "?":
            chunks[-1][-1] += "[^/]"
        elif char == "[":
            close = _close(pattern, position)
            chunks[-1][-1] += _bracket(pattern[position:close])
            position = close + 1
        elif char == "\\":
            if position == end:
                raise ValueError("nothing is left to escape")
            chunks[-1][-1] += re.escape(pattern[position])
            position += 1
        else:
            chunks[-1][-1] += re.escape(char)
    *first, last = chunks
    parts = [
        f"(?>{'(?:.*?/)??' if number or starts_anywhere else ''}{_starred(chunk, '[^/]*?')})"
        for number, chunk in enumerate(first)
    ]
    way = "(?:.*/)?" if first or starts_anywhere else ""
    return f"{''.join(parts)}{way}{_starred(last, '[^/]*')}"


def _starred(pieces: list[str], last_star: str) -> str:
    """What stands between stars, as one expression."""
    start, *rest = pieces
    between = "".join(f"(?>[^/]*?{piece})" for piece in rest[:-1])
    return start + between + (last_star + rest[-1] if rest else "")


def _close(pattern: str, position: int) -> int:
    if pattern[position : position + 1] in ("!", "^"):
        position += 1
    first = position
    while position < len(pattern):
        if pattern[position] == "\\":
            position += 1
        elif pattern[position] == "]" and position > first:
            return position
        position += 1
    raise ValueError("the bracket is never closed")


def _bracket(inside: str) -> str:
    negated = inside[0] in "!^"
    characters: list[tuple[str, str]] = re.findall(r"(\\?)(.)", inside[negated:], re.DOTALL)
    members = []
    position = 0
    while position < len(characters):
        low = characters[position][1]
        members.append(re.escape(low))
        position += 1
        if position + 1 < len(characters) and characters[position] == ("", "-"):
            high = characters[position + 1][1]
            if low <= high:  # one that runs backwards holds nothing
                members.append(f"{re.escape(low)}-{re.escape(high)}")
            position += 2
    # a bracket never stands for a slash
    return f"(?!/)[{'^' if negated else ''}{''.join(members)}]"
