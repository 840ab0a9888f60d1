"""Is an object done, and if not, why: pure functions of plain content."""
