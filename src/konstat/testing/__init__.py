"""Helpers for the tests of operator authors."""
