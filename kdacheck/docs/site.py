"""The written pages in the table of contents of the site."""

from __future__ import annotations

import re

from kdacheck.docs import catalogue
from kdacheck.rules import catalogue as rules

#: What stands between these comments of `mkdocs.yml` is written.
BLOCK = re.compile(
    r"(?P<indent> *)# (?P<which>rules|catalogue): written\n(?:(?P=indent)- .*\n)*(?P=indent)# end\n"
)


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
