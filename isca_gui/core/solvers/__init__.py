"""The solvers: ADMM as published, the direct solver and the baselines, on one description of the problem."""
