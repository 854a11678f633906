"""First steps with ISCA Studio from Python, to be read from top to bottom or run cell by cell.

    python first_steps.py

Takes some seconds and writes one file, `copy.jpg`, where you are. The last cell needs scikit-learn
(`pip install "isca-gui[sklearn]"`).
"""

# %% A reference picture, as grey float32 from 0 to 1. `image.read("photo.jpg")` reads your own.
from isca_gui.core.distortion import dataset
from isca_gui.core.model import training
from isca_gui.core.pictures import image, samples
from isca_gui.core.progress import run
from isca_gui.core.recognition import evaluation
from isca_gui.core.recognition.recogniser import Recogniser
from isca_gui.core.settings import DatasetSpec, TrainingSettings

reference = image.read(samples.resolve("sample:coins"))
print("reference:", reference.shape)

# %% A dataset: every kind of distortion at every level of error (MSE on the scale 0 to 255). Every long task
# is a generator that reports its progress; `run` takes it to its end.
spec = DatasetSpec(levels=(60.0, 120.0, 240.0, 480.0))
made = run(dataset.generate(reference, spec))
print("dataset:", len(made.entries), "pictures of", ", ".join(made.classes))

# %% A model: one small subspace for every block of 8×8 pixels.
model = run(training.train(made, TrainingSettings(solver="direct")))
last = model.steps[-1]
print(f"model: {model.end} after {last.epoch} iterations, objective {last.objective:.4f}")

# %% A copy of the picture as another program might have saved it.
from PIL import Image

Image.fromarray((255 * reference).round().astype("uint8")).save("copy.jpg", quality=15)

# %% What was done to it, where, how strongly, and how sure are we?
found = Recogniser(model).recognise(image.read("copy.jpg"))
print("verdict:", found.verdict.sentence)
votes = found.winner.reshape(
    found.grid.rows, found.grid.columns
)  # index into found.classes, −1 undecided
print("first votes:", ", ".join(found.classes[vote] if vote >= 0 else "?" for vote in votes[0, :6]))

# %% How good is the model? Every training picture recognised with all others. With so few levels the nearest
# one is far away; the default dataset has twenty.
score = run(evaluation.leave_one_out(model))
print(
    f"leave-one-out: {score.accuracy:.0%} of the pictures, {score.block_accuracy:.0%} of their blocks"
)

# %% The same method as a scikit-learn estimator: each row is one block in one picture.
from isca_gui.core.model.estimators import ISCA
from isca_gui.core.pictures.blocks import BlockGrid

blocks = BlockGrid(*reference.shape).split_stack(made.pictures)[
    100
]  # (picture, pixel) of one block
estimator = ISCA(n_components=4).fit(blocks)
print(
    f"estimator: objective {estimator.objective_:.4f}, projections {estimator.transform(blocks).shape}"
)
