"""The catalogue: one module per library, written like stub files, with clauses for what annotations cannot say."""
