"""Reads the small files of a project that are read without being asked for."""

from __future__ import annotations

import os
import stat

#: Settings, ignore files and pins are smaller than this.
MAX_BYTES = 8 << 20


def read_regular(path: str) -> bytes:
    """The bytes of a regular file. Raises OSError, also for a pipe or a device, which may have no end."""
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
    if os.path.isdir(path):
        raise IsADirectoryError(21, os.strerror(21), path)
    with os.fdopen(os.open(path, flags), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(0, "not a regular file", path)
        if status.st_size > MAX_BYTES:
            raise OSError(0, f"larger than {MAX_BYTES >> 20} MiB", path)
        return file.read()
