"""Print how the verdicts on the corpus of statuses compare with the honest ones.

Columns: share of samples that were decided (not Unknown), that got an honest verdict (exact), that
got the one named first, and whose turn was told right; counts of false green and false red.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import status_corpus

from konstat.readiness import compute


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--group", help="only samples of this API group")
    parser.add_argument(
        "--without-rules", action="store_true", help="judge by the general reading alone"
    )
    options = parser.parse_args()
    judge = status_corpus.general if options.without_rules else compute
    chosen = [s for s in status_corpus.samples() if options.group in (None, s.group)]
    if not chosen:
        parser.error(f"no sample is of the group {options.group!r}")
    outcomes = status_corpus.judged(judge, chosen)
    for outcome in outcomes:
        if not outcome.exact:
            sys.stdout.write(f"{'FALSE GREEN ' if outcome.false_green else ''}{outcome}\n")
    sys.stdout.write(f"\n{status_corpus.table(outcomes)}\n")
    return int(any(outcome.false_green for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
