"""Optional, mutually ignorant services beside the controllers: events, metrics, health."""
