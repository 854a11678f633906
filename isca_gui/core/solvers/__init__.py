"""The solvers: ADMM as published, the direct solver and the baselines, all on one `Problem`.

`driver.solve` runs an iterative solver epoch by epoch; `admm` and `direct` hold the mathematics.
Where the numbered equations of the printed paper stand:

=======  ================================  ===================================================
Eq.      what it is                        where it stands
=======  ================================  ===================================================
1, 2     SSIM and the distance 1 − SSIM    `pictures.ssim`
3, 4     principal component analysis      `baselines.pca`
5, 8     the problem of ISCA               `problem.Problem`
6        f(U)                              `objective.reconstruction_errors`, and compiled in
                                           `compiled_loops.objective`
7        its gradient G(U)                 `objective.objective_and_gradient`, and in Eq. 15
9 – 13   ADMM before it is simplified      not in the code: Eq. 15 restates them
14       all singular values set to one    `objective.polar`, `compiled_loops._polar`
15       the iteration of ISCA             `numpy_epochs.admm_epoch`, and compiled in
                                           `compiled_loops.admm_epoch`
16       the problem of kernel ISCA        `problem.kernel_problem`
17, 18   f(Θ) and G(Θ)                     as Eq. 6 and 7, in Mercer coordinates (`kernels`)
19 – 22  ADMM before it is simplified      not in the code: Eq. 23 restates them
23       the iteration of kernel ISCA      as Eq. 15, in Mercer coordinates, with the metric Υ
=======  ================================  ===================================================
"""
