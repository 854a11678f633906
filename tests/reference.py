"""The equations of the paper, written down one by one: slow, literal, NumPy and float64 only.

Nothing here is meant to be used by the program; it is what the program is compared with. Equations
have the numbers of the printed paper. Notation: n images, b blocks, q pixels in a block, p
components; a set of blocks is an array (block, image, pixel).
"""

import numpy as np

# --- structural similarity -----------------------------------------------------------------------


def ssim(x1, x2, l=1.0):  # noqa: E741 (the paper's letter)
    """Return the structural similarity of two blocks of q >= 2 pixels with values in [0, l]."""
    # Eq. 1, three factors: luminance, contrast, structure
    q = len(x1)
    c1 = (0.01 * l) ** 2
    c2 = (0.03 * l) ** 2
    c3 = c2 / 2
    mu1 = sum(x1) / q
    mu2 = sum(x2) / q
    sigma1 = (sum((x1[i] - mu1) ** 2 for i in range(q)) / (q - 1)) ** 0.5
    sigma2 = (sum((x2[i] - mu2) ** 2 for i in range(q)) / (q - 1)) ** 0.5
    sigma12 = sum((x1[i] - mu1) * (x2[i] - mu2) for i in range(q)) / (q - 1)
    luminance = (2 * mu1 * mu2 + c1) / (mu1**2 + mu2**2 + c1)
    contrast = (2 * sigma1 * sigma2 + c2) / (sigma1**2 + sigma2**2 + c2)
    structure = (sigma12 + c3) / (sigma1 * sigma2 + c3)
    return luminance * contrast * structure


def constant_c(q):
    """Return the constant c = (q - 1) c_2 of blocks with q pixels and l = 1."""
    return (q - 1) * 0.03**2


def ssim_centred(x1, x2, c):
    """Return the structural similarity of two blocks whose means are zero."""
    # Section 2: (2 x1'x2 + c) / (|x1|^2 + |x2|^2 + c)
    return (2 * x1 @ x2 + c) / (x1 @ x1 + x2 @ x2 + c)


def ssim_distance(x1, x2, c):
    """Return the squared distance 1 - SSIM of two blocks whose means are zero."""
    # Eq. 2
    difference = x1 - x2
    return (difference @ difference) / (x1 @ x1 + x2 @ x2 + c)


# --- linear ISCA ---------------------------------------------------------------------------------


def f(U, x, c):
    """Return the reconstruction error of the centred block x; c is in the denominator only.

    This is the simplified form, equal to ``ssim_distance(x, U U'x, c)`` only if U'U = I. For any
    other U it is what the paper iterates on; it lies above -1 and is negative where |U'x| > |x|.
    """
    # Eq. 6: x'(I - UU')x / (x'(I + UU')x + c)
    identity = np.eye(len(x))
    alpha = x @ (identity - U @ U.T) @ x
    beta = x @ (identity + U @ U.T) @ x + c
    return alpha / beta


def gradient(U, x, c):
    """Return the gradient of f; beta is f's denominator, so this is the derivative for every U."""
    # Eq. 7, with beta as in the derivation of the supplement
    beta = x @ (np.eye(len(x)) + U @ U.T) @ x + c
    return -2 * (1 + f(U, x, c)) / beta * np.outer(x, x) @ U


def project_stiefel(A):
    """Return the nearest matrix with orthonormal columns: all singular values of A set to one.

    A has at least as many rows as columns.

    If A lacks full column rank the nearest matrix is not unique; the one of this SVD is returned.
    """
    # Eq. 14
    Q, sigma, Omega_transposed = np.linalg.svd(A, full_matrices=False)
    return Q @ np.diag(np.ones_like(sigma)) @ Omega_transposed


def isca_step(U, V, J, x, rho, eta, c):
    """Do one iteration of ADMM for one block of one image; return the new U, V and J."""
    # Eq. 15, in this order
    U_new = U - eta * gradient(U, x, c) - eta * rho * (U - V + J)
    V_new = project_stiefel(U_new + J)
    J_new = J + U_new - V_new
    return U_new, V_new, J_new


def average_error(X, U, c):
    """Return the average of f over all blocks and images with U (block, pixel, component) as is."""
    # Section 4.2, termination criterion
    b, n, _ = X.shape
    total = 0.0
    for i in range(b):
        for j in range(n):
            total += f(U[i], X[i, j], c)
    return total / (n * b)


def objective(X, U, c):
    """Return the average of f over all blocks and images with the orthonormalised bases."""
    # Eq. 8 over all images, divided by n b
    return average_error(X, [project_stiefel(U_i) for U_i in U], c)


def isca_epochs(X, U, V, J, rho, eta, epochs):
    """Train ISCA on centred blocks X (block, image, pixel) from U, V and J (block, q, p).

    Returns
    -------
    U, V, J : ndarray
        The bases after the last epoch.
    errors : list of float
        Per epoch the mean of f, each f taken at the just updated U and for the block which updated
        it.
    objectives : list of float
        Per epoch ``objective(X, U, c)`` at its end.
    """
    # Section 4.2: one iteration of ADMM for every block of an image, then the next image
    b, n, q = X.shape
    c = constant_c(q)
    U, V, J = U.copy(), V.copy(), J.copy()
    errors = []
    objectives = []
    for _ in range(epochs):
        total = 0.0
        for j in range(n):
            for i in range(b):
                U[i], V[i], J[i] = isca_step(U[i], V[i], J[i], X[i, j], rho, eta, c)
                total += f(U[i], X[i, j], c)
        errors.append(total / (n * b))
        objectives.append(objective(X, U, c))
    return U, V, J, errors, objectives


# --- kernels -------------------------------------------------------------------------------------
# Definitions of scikit-learn on two vectors. The blocks are NOT centred: the kernel is, afterwards.


def kernel_linear(a, b):
    """Return a'b."""
    return a @ b


def kernel_rbf(a, b, gamma=None):
    """Return exp(-gamma |a - b|^2); gamma is 1/q unless given."""
    gamma = 1 / len(a) if gamma is None else gamma
    return np.exp(-gamma * ((a - b) @ (a - b)))


def kernel_sigmoid(a, b, gamma=None, coef0=1.0):
    """Return tanh(gamma a'b + coef0), an indefinite kernel; gamma is 1/q unless given."""
    gamma = 1 / len(a) if gamma is None else gamma
    return np.tanh(gamma * (a @ b) + coef0)


def kernel_polynomial(a, b, gamma=None, coef0=1.0, degree=3):
    """Return (gamma a'b + coef0)^degree; gamma is 1/q unless given."""
    gamma = 1 / len(a) if gamma is None else gamma
    return (gamma * (a @ b) + coef0) ** degree


def kernel_cosine(a, b):
    """Return a'b / (|a| |b|), or 0 if one of them is zero."""
    length = np.sqrt(a @ a) * np.sqrt(b @ b)
    return a @ b / length if length > 0 else 0.0


def kernel_matrix(X_block, kernel):
    """Return the kernel matrix (n, n) of one block in n images."""
    # Section 5: K(a, b) = phi(x_a)' phi(x_b)
    n = len(X_block)
    K = np.zeros((n, n))
    for a in range(n):
        for b in range(n):
            K[a, b] = kernel(X_block[a], X_block[b])
    return K


def normalise_vector(k, kxx, K_diag):
    """Normalise the similarities k of a block x to the n training blocks by all self-similarities.

    A zero self-similarity (a black block under the linear kernel) makes the similarity 0. A
    negative one, which only an indefinite kernel can have (sigmoid: gamma x'x + coef0 < 0, so
    never with coef0 >= 0), counts by its absolute value: that equals the paper's formula wherever
    the latter is a real number, keeps the sign of the similarity, and scales K by a real diagonal
    matrix on both sides, so that it stays symmetric and gains or loses no negative eigenvalue.
    """
    # Section 5: K(a, b) / sqrt(K(a, a) K(b, b)), the root taken factor by factor against underflow
    normalised = np.zeros(len(k))
    for a in range(len(k)):
        length = np.sqrt(abs(kxx)) * np.sqrt(abs(K_diag[a]))
        normalised[a] = k[a] / length if length > 0 else 0.0
    return normalised


def normalise(K):
    """Normalise a kernel matrix to unit self-similarity; see `normalise_vector` for values <= 0."""
    # Section 5: K(a, b) := K(a, b) / sqrt(K(a, a) K(b, b))
    K_diag = np.diag(K)
    return np.array([normalise_vector(K[a], K_diag[a], K_diag) for a in range(len(K))])


def double_centre(K):
    """Centre the n mapped blocks in feature space."""
    # Section 5: K := H K H with H = I - (1/n) 1 1'
    n = len(K)
    H = np.eye(n) - np.ones((n, n)) / n
    return H @ K @ H


def centre_vector(k_new, K):
    """Centre the similarities of a new block by training means; K is normalised, NOT centred."""
    # kernel PCA: k - (1/n) K 1 - (1/n) 1 1'k + (1/n^2) 1 1'K 1
    n = len(K)
    one = np.ones(n)
    return k_new - K @ one / n - one * (one @ k_new) / n + one * (one @ K @ one) / n**2


# --- kernel ISCA ---------------------------------------------------------------------------------


def decompose(K, tolerance=1e-8):
    """Decompose the centred K into Psi (n, r), Upsilon (r, r), Delta (r, n), with K = Delta' Delta.

    Eigenvalues come in falling order, negative ones are set to 0, and those at or below
    ``tolerance`` times the largest are dropped. With ``tolerance=0`` nothing is dropped and Delta
    is the paper's n x n matrix. If K is indefinite, Delta' Delta is its nearest positive
    semi-definite matrix and not K itself.
    """
    # Section 5: K = Psi Upsilon Psi', Delta = Upsilon^(1/2) Psi'
    values, vectors = np.linalg.eigh(K)
    values, vectors = values[::-1], vectors[:, ::-1]
    values = np.where(values > 0, values, 0.0)
    if tolerance > 0:
        kept = values > tolerance * values[0]
        values, vectors = values[kept], vectors[:, kept]
    Psi = vectors
    Upsilon = np.diag(values)
    Delta = np.diag(np.sqrt(values)) @ Psi.T
    return Psi, Upsilon, Delta


def f_kernel(Theta, k, kii, c):
    """Return the reconstruction error in feature space of a block with similarities k and kii."""
    # Eq. 17
    alpha = kii - k @ Theta @ Theta.T @ k
    beta = kii + k @ Theta @ Theta.T @ k + c
    return alpha / beta


def gradient_kernel(Theta, k, kii, c):
    """Return the gradient of f_kernel."""
    # Eq. 18
    beta = kii + k @ Theta @ Theta.T @ k + c
    return -2 * (1 + f_kernel(Theta, k, kii, c)) / beta * np.outer(k, k) @ Theta


def kernel_isca_step(Theta, W, J, Delta, k, kii, rho, eta, c):
    """Do one iteration of ADMM for one block of one image; Theta is (n, p), W and J are (r, p).

    r is at least p. The paper does not say what c is in feature space; it is taken as
    ``constant_c(q)``, q the pixels in a block.
    """
    # Eq. 23, in this order
    Theta_new = (
        Theta
        - eta * gradient_kernel(Theta, k, kii, c)
        - eta * rho * Delta.T @ (Delta @ Theta - W + J)
    )
    W_new = project_stiefel(Delta @ Theta_new + J)
    J_new = J + Delta @ Theta_new - W_new
    return Theta_new, W_new, J_new


def kernel_isca_steps(K, Delta, Theta, W, J, rho, eta, steps, c):
    """Go cyclically through the images of one block; K is normalised and centred."""
    # Section 5: the auto-encoder approach of Section 4.2, image by image
    n = len(K)
    for step in range(steps):
        j = step % n
        Theta, W, J = kernel_isca_step(Theta, W, J, Delta, K[:, j], K[j, j], rho, eta, c)
    return Theta, W, J


# --- comparison and recognition ------------------------------------------------------------------


def pca_basis(X_block, p):
    """Return the leading p principal directions (q, p) of one centred block in n images (n, q).

    As ISCA does, this takes "already centred" to mean that every block has lost its own mean. The
    mean over the images is NOT removed.
    """
    # Section 3: S U = U Lambda with S = X X'
    q = X_block.shape[1]
    S = np.zeros((q, q))
    for x in X_block:
        S += np.outer(x, x)
    _, vectors = np.linalg.eigh(S)
    return vectors[:, ::-1][:, :p]


def pca_basis_mean_removed(X_block, p):
    """Return the leading p principal directions about the mean of the images, as scikit-learn."""
    mean = sum(X_block) / len(X_block)
    return pca_basis(np.array([x - mean for x in X_block]), p)


def leave_one_out_1nn(Y, labels):
    """Return the label of the nearest other image for each projection in Y (n, p) of one block.

    An exact tie between images of different classes gives "undecided", as does having no other
    image.
    """
    # Section 6, with the image itself not among its neighbours
    n = len(Y)
    found = []
    for j in range(n):
        smallest = np.inf
        nearest = []
        for other in range(n):
            if other == j:
                continue
            distance = (Y[j] - Y[other]) @ (Y[j] - Y[other])
            if distance < smallest:
                smallest, nearest = distance, [labels[other]]
            elif distance == smallest:
                nearest.append(labels[other])
        found.append(nearest[0] if len(set(nearest)) == 1 else "undecided")
    return found
