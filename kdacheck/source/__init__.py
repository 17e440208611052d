"""Facts from source code: select, resolve, interpret. Nothing that is read is ever imported or run."""

from kdacheck.source.analyse import Unreadable, analyse
from kdacheck.source.select import may_matter

__all__ = ["Unreadable", "analyse", "may_matter"]
