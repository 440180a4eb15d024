"""Command line for people who do not program: make releases and predict from tables.

The top layer: it calls the package's public names, and nothing calls it.
"""

from skdp.commands._main import main
