"""The command line, for whoever does not program: tables in; a schema, release, predictions out.

The top layer: it calls the package's public names, and nothing calls it.
"""

from skdp.commands._main import main
