"""Sphinx configuration; ``_ext/site.py`` has what needs more than a setting."""

import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.append(str(Path(__file__).parent / "_ext"))

from inventories import local_inventories

import skdp

project = "skdp"
author = "the skdp developers"
copyright = "2026, the skdp developers"
version = release = skdp.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
    "sphinx_design",
    "myst_parser",
    "site_tools",
]
exclude_patterns = ["_build", "_ext", "_templates"]
templates_path = ["_templates"]
default_role = None

# --- Appearance -----------------------------------------------------------------------------
html_theme = "pydata_sphinx_theme"
html_title = "skdp"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "skdp", "alt_text": "skdp: front page"},
    "header_links_before_dropdown": 8,
    "navigation_with_keys": True,
    "show_nav_level": 1,
    "show_toc_level": 2,
    "secondary_sidebar_items": [],
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "search_as_you_type": True,
}
if address := os.environ.get("SKDP_DOC_VERSIONS"):  # a versions.json, where sites are published
    html_theme_options |= {
        "switcher": {"json_url": address, "version_match": version},
        "navbar_end": ["version-switcher", "theme-switcher", "navbar-icon-links"],
    }
# Pages without others below them need no list of these.
ALONE = (
    "index install quickstart faq glossary bibliography changelog contributing extending "
    "constants search"
)
html_sidebars = {page: [] for page in ALONE.split()}
copybutton_exclude = ".linenos, .gp, .go"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
mathjax_path = "mathjax/tex-chtml.js"  # bundled: formulas need no network

# --- Reference --------------------------------------------------------------------------------
autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # numpydoc's sections say it better
# Of the extra ``neural``, which the documentation does not need.
autodoc_mock_imports = ["torch", "opacus"]
numpydoc_show_class_members = False
numpydoc_show_inherited_class_members = False
intersphinx_mapping = local_inventories()

# --- Gallery ------------------------------------------------------------------------------------
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": "/plot_",
    "show_memory": False,
    "write_computation_times": False,
    "subsection_order": [f"../examples/{name}" for name in ("tables", "privacy", "more")],
    "within_subsection_order": "gallery.InOrder",
    "image_scrapers": ("gallery.figures",),
    "image_srcset": ["2x"],
    "backreferences_dir": "api/backreferences",
    "doc_module": ("skdp",),
    "reference_url": {"skdp": None},
    "show_signature": False,
}

# --- Checks -------------------------------------------------------------------------------------
nitpicky = True
nitpick_ignore_regex = [
    # scikit-learn's own docstrings, of inherited methods, name its glossary and guides.
    (r"std:(term|ref)", r".*"),
]
suppress_warnings = ["ref.term", "ref.ref", "config.cache", "myst.xref_missing"]
