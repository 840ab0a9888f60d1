"""Time, tasks, chance, limits and the transport seam: asyncio, but no word of Kubernetes.

Every other package takes its time, randomness, spawning and waiting from here, so that a
simulation can replace them in one place.
"""
