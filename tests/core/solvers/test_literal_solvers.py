"""The literal reference checked against facts that do not come from itself."""

from functools import partial

import numpy as np
import pytest
from scipy.linalg import polar
from sklearn.decomposition import PCA
from sklearn.metrics import pairwise
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import KernelCenterer

from tests import reference as ref

Q, P, N = 16, 3, 11
C = ref.constant_c(Q)

KERNELS = {
    "linear": (ref.kernel_linear, pairwise.linear_kernel),
    "rbf": (ref.kernel_rbf, pairwise.rbf_kernel),
    "sigmoid": (ref.kernel_sigmoid, pairwise.sigmoid_kernel),
    "polynomial": (ref.kernel_polynomial, pairwise.polynomial_kernel),
    "cosine": (ref.kernel_cosine, pairwise.cosine_similarity),
    "rbf, gamma": (partial(ref.kernel_rbf, gamma=0.7), partial(pairwise.rbf_kernel, gamma=0.7)),
    "sigmoid, all": (
        partial(ref.kernel_sigmoid, gamma=0.2, coef0=-0.3),
        partial(pairwise.sigmoid_kernel, gamma=0.2, coef0=-0.3),
    ),
    "polynomial, all": (
        partial(ref.kernel_polynomial, gamma=0.2, coef0=0.5, degree=2),
        partial(pairwise.polynomial_kernel, gamma=0.2, coef0=0.5, degree=2),
    ),
}


@pytest.fixture
def rng():
    return np.random.default_rng(20190827)


@pytest.fixture
def pixels(rng):
    """One block in N images: a common structure, disturbed, in [0, 1]."""
    return np.clip(rng.uniform(size=Q) + 0.15 * rng.normal(size=(N, Q)), 0, 1)


@pytest.fixture
def block(pixels):
    """The same, every block centred over its own pixels."""
    return pixels - pixels.mean(axis=1, keepdims=True)


def orthonormal(rng, rows, columns):
    return np.linalg.qr(rng.normal(size=(rows, columns)))[0]


def central_differences(function, A, h=1e-6):
    G = np.zeros_like(A)
    for index in np.ndindex(*A.shape):
        E = np.zeros_like(A)
        E[index] = h
        G[index] = (function(A + E) - function(A - E)) / (2 * h)
    return G


# --- structural similarity -----------------------------------------------------------------------


def test_ssim_is_one_for_equal_blocks_and_symmetric(pixels):
    assert ref.ssim(pixels[0], pixels[0]) == pytest.approx(1, abs=1e-14)
    assert ref.ssim(pixels[0], pixels[1]) == pytest.approx(
        ref.ssim(pixels[1], pixels[0]), abs=1e-15
    )
    assert ref.ssim(pixels[0], pixels[1]) < 1


def test_ssim_by_the_two_factor_form(pixels):
    x, y = pixels[0], pixels[1]
    covariance = np.cov(x, y)  # divides by q - 1
    s1 = (2 * x.mean() * y.mean() + 1e-4) / (x.mean() ** 2 + y.mean() ** 2 + 1e-4)
    s2 = (2 * covariance[0, 1] + 9e-4) / (covariance[0, 0] + covariance[1, 1] + 9e-4)
    assert ref.ssim(x, y) == pytest.approx(s1 * s2, rel=1e-12)


def test_ssim_scales_with_the_intensity_range(pixels):
    assert ref.ssim(255 * pixels[0], 255 * pixels[1], l=255.0) == pytest.approx(
        ref.ssim(*pixels[:2]), rel=1e-12
    )


def test_ssim_of_centred_blocks(block):
    x, y = block[0], block[1]
    assert pytest.approx(15 * 9e-4, rel=1e-15) == C
    assert ref.ssim_centred(x, y, C) == pytest.approx(ref.ssim(x, y), rel=1e-12)
    assert ref.ssim_distance(x, y, C) == pytest.approx(1 - ref.ssim(x, y), rel=1e-12)


# --- linear ISCA ---------------------------------------------------------------------------------


def test_f_is_the_distance_to_the_reconstruction_if_orthonormal(rng, block):
    U = orthonormal(rng, Q, P)
    x = block[0]
    assert ref.f(U, x, C) == pytest.approx(ref.ssim_distance(x, U @ U.T @ x, C), rel=1e-12)


def test_f_of_a_full_basis_and_of_a_flat_block_is_zero(rng, block):
    assert ref.f(orthonormal(rng, Q, Q), block[0], C) == pytest.approx(0, abs=1e-14)
    assert ref.f(orthonormal(rng, Q, P), np.zeros(Q), C) == 0
    assert not ref.gradient(orthonormal(rng, Q, P), np.zeros(Q), C).any()


@pytest.mark.parametrize("start", ["orthonormal", "uniform", "normal"])
def test_gradient_by_finite_differences(rng, block, start):
    U = {
        "orthonormal": orthonormal(rng, Q, P),
        "uniform": rng.uniform(size=(Q, P)),
        "normal": rng.normal(size=(Q, P)),
    }[start]
    for x in block[:4]:
        G = ref.gradient(U, x, C)
        assert np.linalg.norm(
            G - central_differences(lambda A, x=x: ref.f(A, x, C), U)
        ) < 1e-7 * max(1, np.linalg.norm(G))


def test_projection_is_the_nearest_orthonormal_matrix(rng):
    A = rng.normal(size=(Q, P))
    V = ref.project_stiefel(A)
    np.testing.assert_allclose(V.T @ V, np.eye(P), atol=1e-13)
    np.testing.assert_allclose(V, polar(A)[0], atol=1e-12)
    # tr(V'A) is largest if and only if V'A is symmetric and positive semi-definite
    np.testing.assert_allclose(V.T @ A, (V.T @ A).T, atol=1e-12)
    assert np.linalg.eigvalsh(V.T @ A).min() > 0
    for size in (1e-3, 1e-1, 10.0):
        for _ in range(50):
            other = np.linalg.qr(V + size * rng.normal(size=(Q, P)))
            other = other[0] * np.sign(np.diag(other[1]))
            assert np.linalg.norm(A - V) <= np.linalg.norm(A - other)


def test_projection_of_a_rank_deficient_matrix_is_orthonormal(rng):
    V = ref.project_stiefel(np.outer(rng.normal(size=Q), rng.normal(size=P)))
    np.testing.assert_allclose(V.T @ V, np.eye(P), atol=1e-13)


def test_step_decreases_the_augmented_lagrangian_in_each_variable(rng, block):
    U, V, J = rng.uniform(size=(3, Q, P))
    x, rho = block[0], 1.0
    U1, V1, J1 = ref.isca_step(U, V, J, x, rho, 1e-3, C)

    def penalty(U, V):
        return ref.f(U, x, C) + rho / 2 * np.linalg.norm(U - V + J) ** 2

    slope = central_differences(lambda A: penalty(A, V), U)
    np.testing.assert_allclose(U1, U - 1e-3 * slope, atol=1e-8)
    assert penalty(U1, V) < penalty(U, V)
    assert penalty(U1, V1) <= penalty(U1, orthonormal(rng, Q, P))
    np.testing.assert_allclose(J1 - J, U1 - V1, atol=1e-14)


def test_epochs_go_image_by_image_and_keep_their_input(rng, block):
    X = np.stack([block[:2], block[2:4]])
    start = rng.uniform(size=(3, 2, Q, P))
    kept = start.copy()
    U, V, J, errors, objectives = ref.isca_epochs(X, *start, 1.0, 0.1, 1)
    np.testing.assert_array_equal(start, kept)
    expected = []
    for i in range(2):
        state = start[0, i], start[1, i], start[2, i]
        for j in range(2):
            state = ref.isca_step(*state, X[i, j], 1.0, 0.1, C)
            expected.append(ref.f(state[0], X[i, j], C))
        for got, wanted in zip((U, V, J), state, strict=True):
            np.testing.assert_array_equal(got[i], wanted)
    assert errors == [pytest.approx(np.mean(expected), rel=1e-14)]
    x = X.reshape(4, Q)
    bases = [polar(U[i])[0] for i in (0, 0, 1, 1)]
    by_distance = [ref.ssim_distance(x[m], bases[m] @ bases[m].T @ x[m], C) for m in range(4)]
    assert objectives == [pytest.approx(np.mean(by_distance), rel=1e-10)]


def test_one_image_and_one_direction_give_the_block_itself(rng, block):
    # f is smallest, and zero, for u = x / |x|
    x = block[0]
    _, V, _, errors, objectives = ref.isca_epochs(
        x[None, None], *rng.uniform(size=(3, 1, Q, 1)), 1.0, 0.1, 800
    )
    assert len(errors) == len(objectives) == 800
    assert objectives[-1] < 1e-6 < objectives[0]
    assert abs(V[0, :, 0] @ x) / np.linalg.norm(x) == pytest.approx(1, abs=1e-5)


# --- kernels -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_as_in_scikit_learn(pixels, name):
    ours, theirs = KERNELS[name]
    pixels[3] = 0  # a black block
    np.testing.assert_allclose(
        ref.kernel_matrix(pixels, ours), theirs(pixels), rtol=1e-12, atol=1e-14
    )


def test_normalised_linear_kernel_is_the_cosine(pixels):
    pixels[3] = 0
    K = ref.normalise(ref.kernel_matrix(pixels, ref.kernel_linear))
    np.testing.assert_allclose(K, pairwise.cosine_similarity(pixels), atol=1e-14)
    assert not K[3].any()
    assert not K[:, 3].any()


def test_normalising_tiny_values_does_not_underflow():
    np.testing.assert_allclose(ref.normalise(np.full((2, 2), 1e-200)), 1, rtol=1e-12)


def test_normalising_negative_self_similarities(rng):
    K = rng.normal(size=(6, 6))
    K = K + K.T
    got = ref.normalise(K)
    assert (np.diag(K) < 0).any()
    np.testing.assert_allclose(np.abs(np.diag(got)), 1, rtol=1e-14)
    np.testing.assert_array_equal(np.sign(got), np.sign(K))
    np.testing.assert_allclose(got, got.T, rtol=1e-14)
    assert (np.linalg.eigvalsh(got) < 0).sum() == (np.linalg.eigvalsh(K) < 0).sum()  # Sylvester


def test_sigmoid_of_pixels_has_a_positive_diagonal(pixels):
    pixels[3] = 0
    assert np.diag(ref.kernel_matrix(pixels, ref.kernel_sigmoid)).min() >= np.tanh(1)


@pytest.mark.parametrize("name", KERNELS)
def test_double_centring(pixels, name):
    K = ref.normalise(ref.kernel_matrix(pixels, KERNELS[name][0]))
    centred = ref.double_centre(K)
    np.testing.assert_allclose(centred.sum(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(centred.sum(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(centred, KernelCenterer().fit_transform(K), atol=1e-13)


def test_centring_the_linear_kernel_centres_the_data(pixels):
    moved = pixels - pixels.mean(axis=0)
    K = ref.kernel_matrix(pixels, ref.kernel_linear)
    np.testing.assert_allclose(ref.double_centre(K), moved @ moved.T, atol=1e-12)


@pytest.mark.parametrize("name", KERNELS)
def test_out_of_sample_agrees_with_training_and_scikit_learn(rng, pixels, name):
    kernel = KERNELS[name][0]
    raw = ref.kernel_matrix(pixels, kernel)
    K = ref.normalise(raw)
    new = rng.uniform(size=Q)
    for x, j in ((pixels[4], 4), (new, None)):
        k = np.array([kernel(a, x) for a in pixels])
        k = ref.normalise_vector(k, kernel(x, x), np.diag(raw))
        got = ref.centre_vector(k, K)
        np.testing.assert_allclose(got, KernelCenterer().fit(K).transform(k[None])[0], atol=1e-13)
        if j is not None:
            np.testing.assert_allclose(got, ref.double_centre(K)[:, j], atol=1e-13)


# --- kernel ISCA ---------------------------------------------------------------------------------


def centred_kernel(pixels, kernel):
    return ref.double_centre(ref.normalise(ref.kernel_matrix(pixels, kernel)))


@pytest.mark.parametrize("name", ["linear", "rbf", "polynomial", "cosine"])
def test_delta_reproduces_a_positive_semi_definite_kernel(pixels, name):
    K = centred_kernel(pixels, KERNELS[name][0])
    Psi, Upsilon, Delta = ref.decompose(K)
    r = len(Delta)
    assert Psi.shape == (N, r)
    assert r < N  # centring always costs one dimension
    np.testing.assert_allclose(Delta.T @ Delta, K, atol=2e-8 * np.diag(Upsilon).max())
    np.testing.assert_allclose(Delta @ Delta.T, Upsilon, atol=1e-12)
    np.testing.assert_allclose(Psi.T @ Psi, np.eye(r), atol=1e-12)
    full = ref.decompose(K, tolerance=0)[2]
    assert full.shape == (N, N)
    np.testing.assert_allclose(full.T @ full, K, atol=1e-13)


def test_delta_of_an_indefinite_kernel_is_the_nearest_semi_definite_one(rng):
    K = rng.normal(size=(N, N))
    K = ref.double_centre(K + K.T)
    values = np.linalg.eigvalsh(K)
    _, _, Delta = ref.decompose(K)
    assert np.linalg.norm(K - Delta.T @ Delta) == pytest.approx(
        np.linalg.norm(values[values < 0]), rel=1e-10
    )


def test_decomposition_of_nothing():
    assert ref.decompose(np.zeros((N, N)))[2].shape == (0, N)


def test_f_kernel_is_the_distance_in_feature_space(rng, pixels):
    # for the plain linear kernel the feature space is the pixel space: U = X' Theta
    moved = pixels - pixels.mean(axis=0)
    K = ref.double_centre(ref.kernel_matrix(pixels, ref.kernel_linear))
    Psi, Upsilon, _ = ref.decompose(K)
    Theta = Psi @ np.diag(1 / np.sqrt(np.diag(Upsilon))) @ orthonormal(rng, len(Upsilon), P)
    U = moved.T @ Theta
    np.testing.assert_allclose(U.T @ U, np.eye(P), atol=1e-9)
    for j in range(N):
        wanted = ref.ssim_distance(moved[j], U @ U.T @ moved[j], C)
        assert ref.f_kernel(Theta, K[:, j], K[j, j], C) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("name", ["linear", "rbf", "sigmoid"])
def test_kernel_gradient_by_finite_differences(rng, pixels, name):
    K = centred_kernel(pixels, KERNELS[name][0])
    Theta = rng.uniform(size=(N, P))
    for j in range(4):
        G = ref.gradient_kernel(Theta, K[:, j], K[j, j], C)
        wanted = central_differences(lambda A, j=j: ref.f_kernel(A, K[:, j], K[j, j], C), Theta)
        assert np.linalg.norm(G) > 1e-6
        np.testing.assert_allclose(G, wanted, atol=1e-7 * max(1, np.linalg.norm(G)))


def test_kernel_step_descends_the_augmented_lagrangian(rng, pixels):
    K = centred_kernel(pixels, ref.kernel_rbf)
    _, _, Delta = ref.decompose(K)
    r = len(Delta)
    Theta, W, J = rng.uniform(size=(N, P)), rng.uniform(size=(r, P)), rng.uniform(size=(r, P))

    def penalty(Theta, W):
        return (
            ref.f_kernel(Theta, K[:, 2], K[2, 2], C)
            + 0.05 * np.linalg.norm(Delta @ Theta - W + J) ** 2
        )

    Theta1, W1, J1 = ref.kernel_isca_step(Theta, W, J, Delta, K[:, 2], K[2, 2], 0.1, 0.1, C)
    slope = central_differences(lambda A: penalty(A, W), Theta)
    np.testing.assert_allclose(Theta1, Theta - 0.1 * slope, atol=1e-8)
    assert penalty(Theta1, W1) <= penalty(Theta1, orthonormal(rng, r, P))
    np.testing.assert_allclose(W1, polar(Delta @ Theta1 + J)[0], atol=1e-12)
    np.testing.assert_allclose(J1 - J, Delta @ Theta1 - W1, atol=1e-14)


def test_kernel_step_is_the_linear_step_if_the_metric_is_one(rng):
    # with Delta Delta' = I the step in A = Delta Theta is the one of linear ISCA on the columns of
    # Delta
    Delta = orthonormal(rng, N, 6).T
    K = Delta.T @ Delta
    Theta, W, J = rng.uniform(size=(N, P)), rng.uniform(size=(6, P)), rng.uniform(size=(6, P))
    A, V, L = Delta @ Theta, W, J
    for j in range(N):
        Theta, W, J = ref.kernel_isca_step(Theta, W, J, Delta, K[:, j], K[j, j], 0.1, 0.1, C)
        A, V, L = ref.isca_step(A, V, L, Delta[:, j], 0.1, 0.1, C)
        np.testing.assert_allclose(Delta @ Theta, A, atol=1e-11)
        np.testing.assert_allclose(W, V, atol=1e-11)
        np.testing.assert_allclose(J, L, atol=1e-11)


@pytest.mark.parametrize("tolerance", [0, 1e-8])
@pytest.mark.parametrize("name", ["linear", "rbf", "sigmoid", "polynomial"])
def test_kernel_steps_in_mercer_coordinates(rng, pixels, name, tolerance):
    # A = Delta Theta, z = column j of Delta, k = Delta'z, kii = z'z, Delta Delta' = Upsilon. Then
    # k'Theta = z'A, Delta k = Upsilon z, and Delta times the update of Theta is
    #     A + eta Upsilon (2 (1 + f) / beta z (z'A) - rho (A - W + J)).
    # All of it rests on k = Delta'z: K must be Delta' Delta, which is K itself only up to what was
    # clipped.
    _, Upsilon, Delta = ref.decompose(centred_kernel(pixels, KERNELS[name][0]), tolerance)
    K = Delta.T @ Delta
    r = len(Delta)
    rho, eta = 0.1, 0.1
    Theta, W, J = rng.uniform(size=(N, P)), rng.uniform(size=(r, P)), rng.uniform(size=(r, P))
    start = Theta, W, J
    A, V, L = Delta @ Theta, W, J
    for step in range(20):
        z = Delta[:, step % N]
        y = A.T @ z
        a, s = z @ z, y @ y
        error = (a - s) / (a + s + C)
        push = 2 * (1 + error) / (a + s + C) * np.outer(z, y)
        A = A + eta * np.diag(Upsilon)[:, None] * (push - rho * (A - V + L))
        V = polar(A + L)[0]
        L = L + A - V
        Theta, W, J = ref.kernel_isca_steps(K, Delta, *start, rho, eta, step + 1, C)
        np.testing.assert_allclose(Delta @ Theta, A, rtol=0, atol=1e-10)
        np.testing.assert_allclose(W, V, rtol=0, atol=1e-10)
        np.testing.assert_allclose(J, L, rtol=0, atol=1e-10)
    moved = np.linalg.norm(A - Delta @ start[0])
    assert moved > 1e-3  # the agreement is not that of standing still


def test_dropping_null_directions_is_harmless_only_if_they_start_at_zero(rng, pixels):
    K = centred_kernel(pixels, ref.kernel_rbf)
    small = ref.decompose(K)[2]
    r = len(small)
    full = ref.decompose(K, tolerance=0)[2]
    Theta, W, J = rng.uniform(size=(N, P)), rng.uniform(size=(N, P)), rng.uniform(size=(N, P))
    dropped = ref.kernel_isca_steps(K, small, Theta, W[:r], J[:r], 0.1, 0.1, 20, C)
    literal = ref.kernel_isca_steps(K, full, Theta, W, J, 0.1, 0.1, 20, C)
    assert np.linalg.norm(literal[1][:r] - dropped[1]) > 1e-3
    W[r:] = J[r:] = 0
    literal = ref.kernel_isca_steps(K, full, Theta, W, J, 0.1, 0.1, 20, C)
    np.testing.assert_allclose(literal[1][:r], dropped[1], atol=1e-6)


# --- comparison and recognition ------------------------------------------------------------------


def test_pca_minimises_the_squared_reconstruction_error(rng, block):
    U = ref.pca_basis(block, P)
    np.testing.assert_allclose(U.T @ U, np.eye(P), atol=1e-12)
    singular = np.linalg.svd(block, compute_uv=False)
    left = np.linalg.norm(block - block @ U @ U.T) ** 2
    assert left == pytest.approx((singular[P:] ** 2).sum(), rel=1e-10)  # Eckart and Young
    for _ in range(20):
        V = orthonormal(rng, Q, P)
        assert left < np.linalg.norm(block - block @ V @ V.T) ** 2


def test_pca_with_the_mean_removed_is_that_of_scikit_learn(block):
    U = ref.pca_basis_mean_removed(block, P)
    theirs = PCA(n_components=P, svd_solver="full").fit(block).components_
    np.testing.assert_allclose(U @ U.T, theirs.T @ theirs, atol=1e-10)
    plain = ref.pca_basis(block, P)
    assert np.linalg.norm(U @ U.T - plain @ plain.T) > 0.1  # the choice matters


def test_nearest_neighbour_as_in_scikit_learn(rng):
    Y = rng.normal(size=(30, P))
    labels = [f"class {m}" for m in rng.integers(4, size=30)]
    wanted = []
    for j in range(30):
        others = np.delete(np.arange(30), j)
        model = KNeighborsClassifier(1).fit(Y[others], [labels[m] for m in others])
        wanted.append(model.predict(Y[j : j + 1])[0])
    assert ref.leave_one_out_1nn(Y, labels) == wanted


def test_ties_between_classes_are_undecided():
    Y = np.array([[0.0], [1.0], [-1.0], [5.0], [5.0], [5.0]])
    assert ref.leave_one_out_1nn(Y, list("abccca")) == [
        "undecided",
        "a",
        "a",
        "undecided",
        "undecided",
        "c",
    ]
    assert ref.leave_one_out_1nn(Y[:3], list("abb")) == ["b", "a", "a"]
    assert ref.leave_one_out_1nn(Y[:1], ["a"]) == ["undecided"]
