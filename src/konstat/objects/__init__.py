"""Kubernetes data without I/O: kinds, metadata, typed resources, schemas, CRDs, comparison.

Nothing here awaits or knows of a server.
"""
