"""An actor that plays nodes and kubelets through the public API only."""
