"""Typed views of built-in kinds: only the fields that konstat reads; all others are kept."""
