"""The embedded Kubernetes API: a server for development, tests and simulation, in one process.

The core is pure and synchronous: `konstat.embedded.server.EmbeddedServer.handle` turns a request
into a response or a stream, over one revision counter and an append-only log. Two shells carry
requests to it: `konstat.embedded.http` (loopback) and `konstat.embedded.memory` (a function call).
What it does not implement answers with an explicit error.

What must not live here: controllers (`konstat.actors`), nodes (`konstat.nodes`), faults, and
anything that waits, but for the two shells. It knows nothing of `konstat.client`.
"""
