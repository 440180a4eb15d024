"""The command line, for people who do not program: from tables to releases and predictions.

The top layer: it calls the package's public names, and nothing calls it.
"""

from skdp.commands._main import main
