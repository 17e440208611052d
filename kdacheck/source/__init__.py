"""Facts from source code: select, resolve, interpret. Nothing that is read is ever imported or run."""

from kdacheck.source.analyse import Analysis, analyse, examine, keep
from kdacheck.source.select import imports_from, may_matter
from kdacheck.source.text import Unreadable, dotted_name

__all__ = [
    "Analysis",
    "Unreadable",
    "analyse",
    "dotted_name",
    "examine",
    "imports_from",
    "keep",
    "may_matter",
]
