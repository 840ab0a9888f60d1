"""konstat: Kubernetes operators whose status can be believed."""
