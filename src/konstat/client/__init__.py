"""The only HTTP client: configuration, credentials, transport, verbs."""
