"""``python -m skdp`` is the command ``skdp``."""

import sys

from skdp.commands import main

sys.exit(main())
