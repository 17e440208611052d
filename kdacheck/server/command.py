"""The command `kdacheck server`."""

from __future__ import annotations

import argparse
import importlib.util
import sys

MISSING = (
    "the server needs pygls 2, which is not installed beside kdacheck: pip install 'kdacheck[lsp]'"
)


def run(arguments: list[str]) -> int:
    """Serve on standard input and output until the client is done; 0 where it said so, 1 where it went away."""
    from kdacheck.cli import fail

    parser = argparse.ArgumentParser(
        prog="kdacheck server",
        allow_abbrev=False,
        description="Serve an editor, by the language server protocol over standard input and output.",
    )
    parser.add_argument(
        "--stdio", action="store_true", help="the only way there is; may be left out"
    )
    parser.parse_args(arguments)
    if importlib.util.find_spec("pygls") is None or importlib.util.find_spec("pygls.lsp") is None:
        return fail(MISSING)
    if sys.stdin.isatty():
        return fail(
            "the server is started by an editor: its input is a terminal (see docs/editors.md)"
        )
    from kdacheck.server.app import serve

    return serve()
