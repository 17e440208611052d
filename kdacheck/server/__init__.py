"""`kdacheck server`: what editors ask for, over the language server protocol.

`app` speaks it and knows what is open; `workers` runs processes that do the `jobs`, so that nothing waits for an analysis;
`translate` and `positions` put findings into the protocol's words.
"""
