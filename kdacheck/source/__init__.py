"""Facts from source code: select, resolve, interpret. Nothing that is read is ever imported or run."""

from kdacheck.source.analyse import Analysis, analyse, examine
from kdacheck.source.select import may_matter
from kdacheck.source.text import Unreadable

__all__ = ["Analysis", "Unreadable", "analyse", "examine", "may_matter"]
