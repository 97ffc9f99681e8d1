"""How the pages are built: Sphinx with MyST, so that each page is plain Markdown to whoever reads the repository."""

import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "turnwire"
author = "the turnwire authors"
version = release = version_of("turnwire")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]

html_theme = "furo"
html_title = "turnwire"
html_show_sourcelink = False

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the signatures say them
autodoc_default_options = {"members": True, "undoc-members": False, "show-inheritance": False}
suppress_warnings = [
    "myst.xref_missing",  # files outside of docs/; tests/test_docs.py checks all links itself
    "ref.python",  # fields of one name in several classes: a docstring means its own
]
