"""What an assert in a `try` tells of a name from outside is not known where it fails.

finds: nothing
"""

from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    def inner():
        try:
            assert opt is not None
        except AssertionError:
            pass
        return opt

    return chunk_kda(inner(), x, x, x, x)
