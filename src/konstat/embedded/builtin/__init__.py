"""The built-in kinds of the embedded API: their schemas as data, their rules as small functions.

`catalog.builtin_types` gives them to the registry. `definitions` and `encoding` are the ground
(what a Go type looks like, how it reads and writes JSON); above it lie defaults, preparation,
validation and columns, each a table from a kind to functions on plain dicts.

What must not live here: storage, requests, anything about custom resources but the CRD object.
"""
