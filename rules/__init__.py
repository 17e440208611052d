"""The rules, one module each, found by looking into this package."""

from __future__ import annotations

import importlib
import pkgutil
from functools import lru_cache

from kdacheck.rule import Rule


@lru_cache(maxsize=1)
def catalogue() -> tuple[Rule, ...]:
    """Every rule, by code."""
    found = [
        importlib.import_module(f"{__name__}.{module.name}").RULE
        for module in pkgutil.iter_modules(__path__)
        if not module.name.startswith("_")
    ]
    return tuple(sorted(found, key=lambda rule: rule.code))


def find(key: str) -> Rule | None:
    """The rule of a code or a name."""
    return next((rule for rule in catalogue() if key in (rule.code, rule.name)), None)
