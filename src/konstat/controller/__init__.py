"""Controllers, contexts, workers and the manager."""
