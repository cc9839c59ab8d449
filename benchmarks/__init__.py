"""Speed measurements: `make bench` compares the arms, `python -m benchmarks.profile_round` looks inside a forward."""

import os

# Before torch is imported, as the app does: threads that wait sleep instead of spinning. Every arm runs under it.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
# Likewise: the profiler otherwise reports its own start and stop on standard error.
os.environ.setdefault("KINETO_LOG_LEVEL", "99")
