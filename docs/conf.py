"""How the documentation is built; a dead link or a bad reference is an error (-W -n)."""

project = "konstat"
author = "the konstat authors"
copyright = "the konstat authors, Apache-2.0"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "konstat"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
nitpick_ignore_regex = [("py:.*", r".*")]
# Docstrings are Markdown-flavoured; single backquotes name Python objects in the source only.
default_role = "code"
exclude_patterns = []
