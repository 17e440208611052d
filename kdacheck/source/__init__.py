"""Facts from source code: select, resolve, interpret. Nothing that is read is ever imported or run."""
