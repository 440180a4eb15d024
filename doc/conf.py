"""Sphinx configuration."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import skdp

project = "skdp"
author = "the skdp developers"
copyright = "2026, the skdp developers"
version = release = skdp.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build"]
html_theme = "alabaster"
html_theme_options = {"description": "Differentially private learning and transfer"}

autosummary_generate = True
numpydoc_show_class_members = False
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": "/plot_",
    "show_memory": False,
}
# Of the extra ``neural``, which the documentation does not need.
autodoc_mock_imports = ["torch", "opacus"]
# The doc of every class names scikit-learn's glossary, which is not linked here.
suppress_warnings = ["ref.term", "ref.ref", "config.cache"]
