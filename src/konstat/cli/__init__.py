"""The command line: `main` is the entry point, each command has a module of its own.

click and rich are used here and nowhere else. A command's module is imported when it is called, so
`konstat --help` starts quickly.
"""
