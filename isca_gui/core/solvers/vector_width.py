"""How blocks lie side by side in the compiled loops; here, so that asking does not load the compiler."""

LANES = 16  # blocks in one vector
MOST_COMPONENTS = 8  # beyond this the unrolled loops no longer fit the registers; see batched.py
PIECE = (
    4 * LANES
)  # blocks that are worked on together; results do not depend on how pieces meet threads
