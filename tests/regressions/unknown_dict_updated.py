"""What is learnt of one unknown object is not learnt of all.

finds: nothing
"""

from fla.ops.kda import chunk_kda

TABLE = {"q": None, "a": 2}


class Watched:
    def __init__(self, q):
        self.first = q

    def __setattr__(self, name, value):
        self.__dict__[name] = None


def root0(flag, n, opt, xs, x, options):
    first = Watched(x).first
    TABLE.update(q=x)
    return chunk_kda(first, x, x, x, x)
