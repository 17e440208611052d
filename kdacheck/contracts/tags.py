"""Tags of `TensorFacts.tags`: what is certainly so about the making of a tensor, and that its sizes do not tell.

Whoever makes facts sets a tag only where it holds on every path.
"""

from __future__ import annotations

#: Cut by `[:n]` on an axis 0 of size 1: nothing was cut.
BATCH_CUT = "batch-cut"

#: Rows of a batch, laid one behind the other in a batch of one.
FLATTENED = "flattened"

#: Heads stand before tokens, by the transpose that put them there or by an annotation.
HEAD_FIRST = "head-first"

#: Made by a sum over an axis, or by the difference of neighbours: where offsets belong, these are lengths.
LENGTHS = frozenset(("sum", "difference"))

#: Made by a running sum; and, of that, with zeros put in front.
CUMSUM = "cumsum"
PADDED_LEFT = "padded-left"

#: Floor-divided.
QUOTIENT = "divided"

#: Offsets divided where the lengths between them were known and did not all divide evenly.
DIVIDED = "divided-unevenly"

#: One row of a matrix that is not known to have only one.
ROW = "row-of-2d"

#: One row of several rows of offsets, each of which belongs to other tokens.
ONE_ROW = "one-row"

#: Clamped from below at 0 or above.
CLAMPED = "clamped"

#: Slot indices that were known, and of which negative ones, the padding, were clamped to 0.
CLAMPED_PADDING = "clamped-padding"

#: A state with V before K, or with K before V, as the kernel that returned it wrote it.
V_FIRST = "v-first"
K_FIRST = "k-first"

#: Notes of `Call.notes` on the boundaries, each followed by a name: the sibling that got them, the function whose
#: `**kwargs` end there, the function that takes them and does nothing with them, the mask that made them.
DROPPED = "dropped, unlike "
SWALLOWED = "swallowed by "
UNREAD = "unread in "
OVERWRITTEN = "overwritten from "

#: Begins the tag of a tensor that a call may have made which was given boundaries, or which could have been given some
#: and was not; and the tag of a tensor that such a call certainly made. Each is followed by the number of the call.
PACKED = "packed by "
PERHAPS_UNPACKED = "perhaps not packed by "
UNPACKED = "not packed by "
BY_CALL = (PACKED, PERHAPS_UNPACKED, UNPACKED)
