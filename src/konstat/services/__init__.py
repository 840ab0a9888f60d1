"""Optional services beside the controllers: events, metrics, health.

They do not know each other, and no reconcile ever waits for one of them.
"""
