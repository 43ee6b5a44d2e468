"""Whether two texts say the same: they do when they name the same orders. Status 0 is yes, 1 no."""

import json
import re
import sys

texts = json.load(sys.stdin)
orders = [set(re.findall(r"\b10\d\d\b", texts[name])) for name in ("a", "b")]
sys.exit(0 if orders[0] == orders[1] else 1)
