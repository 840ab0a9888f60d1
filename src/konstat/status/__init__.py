"""Evidence in, conditions out: the pure status engine. Nothing here awaits or knows a server."""
