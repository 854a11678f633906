"""First steps with ISCA Studio from Python, to be read from top to bottom or run cell by cell.

    python first_steps.py

It takes some seconds and writes one file, `copy.jpg`, to the current folder. The last cell needs
scikit-learn (`pip install "isca-gui[sklearn]"`).
"""

# %% A reference picture, as grey float32 from 0 to 1. `read_picture("photo.jpg")` reads your own.
from isca_gui.core import read_picture, sample_path

reference = read_picture(sample_path("sample:coins"))
print("reference:", reference.shape)

# %% A dataset: every kind of distortion at every level of error (MSE on the scale 0 to 255).
# Every long task is a generator that reports its progress; `run` runs it to its end.
from isca_gui.core import DatasetSpec, generate_dataset, run

spec = DatasetSpec(levels=(60.0, 120.0, 240.0, 480.0))
dataset = run(generate_dataset(reference, spec))
print("dataset:", len(dataset.entries), "pictures of", ", ".join(dataset.classes))

# %% A model: one small subspace for every block of 8×8 pixels.
from isca_gui.core import TrainingSettings, train

model = run(train(dataset, TrainingSettings(solver="direct")))
last = model.steps[-1]
print(f"model: {model.end} after {last.epoch} iterations, objective {last.objective:.4f}")

# %% A copy of the picture as another program might have saved it.
from PIL import Image

Image.fromarray((255 * reference).round().astype("uint8")).save("copy.jpg", quality=15)

# %% What was done to it, where, how strongly, and how sure are we?
from isca_gui.core import Recogniser

found = Recogniser(model).recognise(read_picture("copy.jpg"))
print("verdict:", found.verdict.sentence)

# Each vote is an index into found.classes, or −1 where the block is undecided.
votes = found.winner.reshape(found.grid.rows, found.grid.columns)
print("first votes:", ", ".join(found.classes[vote] if vote >= 0 else "?" for vote in votes[0, :6]))

# %% How good is the model? Every training picture is recognised using all the others.
# With so few levels the nearest one is far away; the default dataset has twenty.
from isca_gui.core import leave_one_out

score = run(leave_one_out(model))
print(f"leave-one-out: {score.accuracy:.0%} of the pictures, {score.block_accuracy:.0%} of blocks")

# %% The same method as a scikit-learn estimator: each row is one block in one picture.
from isca_gui.core import ISCA, BlockGrid

blocks = BlockGrid(*reference.shape).split_stack(dataset.pictures)[100]
estimator = ISCA(n_components=4).fit(blocks)
projections = estimator.transform(blocks)
print(f"estimator: objective {estimator.objective_:.4f}, projections {projections.shape}")
