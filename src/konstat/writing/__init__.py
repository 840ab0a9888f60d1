"""Writes that change the cluster on behalf of one attempt: apply, status, finalizers."""
