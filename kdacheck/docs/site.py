"""What the site needs beside its pages: the written ones in its table of contents, and links that lead out of it.

`mkdocs.yml` names this file as its hooks.
"""

from __future__ import annotations

import posixpath
import re
from typing import Any

from kdacheck.docs import ROOT, catalogue
from kdacheck.rules import catalogue as rules
from kdacheck.version import PROJECT_URL

#: What stands between these comments of `mkdocs.yml` is written.
BLOCK = re.compile(
    r"(?P<indent> *)# (?P<which>rules|catalogue): written\n(?:(?P=indent)- .*\n)*(?P=indent)# end\n"
)
#: The target of a link up from the folder of a page.
UP = re.compile(r"(?<=\]\()(\.\./[^)#\s]+)")


def with_pages(text: str) -> str:
    """The settings of the site with every rule and every library in the table of contents."""
    entries = {
        "rules": [f"{rule.code} {rule.name}: rules/{rule.name}.md" for rule in rules()],
        "catalogue": [f"{package}: catalogue/{package}.md" for package in catalogue.libraries()],
    }

    def written(block: re.Match[str]) -> str:
        indent, which = block["indent"], block["which"]
        lines = [f"# {which}: written", *(f"- {entry}" for entry in entries[which]), "# end"]
        return "".join(f"{indent}{line}\n" for line in lines)

    return BLOCK.sub(written, text)


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """A page whose links to files of the repository outside of the site lead to where the code is shown."""
    folder = posixpath.join("docs", posixpath.dirname(page.file.src_uri))

    def outside(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, link[1]))
        if path.startswith("docs/") or not (ROOT / path).exists():
            return link[1]
        return f"{PROJECT_URL}/blob/main/{path}"

    return UP.sub(outside, markdown)
