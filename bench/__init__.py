"""Benchmarks: what konstat costs, beside its peers, on a real control plane.

``make bench`` runs all of them; ``python -m bench NAME`` one. Each bench is a module of this
package with ``NAME``, ``TITLE`` and ``async def run(settings: Settings) -> Report``.
"""
