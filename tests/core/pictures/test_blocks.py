"""Cutting pictures into blocks and putting them together again, for every size and type."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isca_gui.core.pictures.blocks import BlockGrid, centre

DTYPES = ("uint8", "float32", "float64", "bool", "int16")
sizes = st.integers(1, 90)
grids = st.builds(BlockGrid, sizes, sizes, st.integers(2, 64))


def filled(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    """Every bit pattern of the type, NaN and infinity among them."""
    random = np.random.default_rng(seed)
    if dtype == "bool":
        return random.random(shape) < 0.5
    size = np.dtype(dtype).itemsize * int(np.prod(shape))
    return np.frombuffer(random.bytes(size), dtype).reshape(shape)


# --- split and join -------------------------------------------------------------------------------


@given(grids, st.sampled_from(DTYPES), st.integers(0, 2**32))
def test_join_undoes_split(grid: BlockGrid, dtype: str, seed: int) -> None:
    picture = filled((grid.height, grid.width), dtype, seed)
    before = picture.tobytes()
    blocks = grid.split(picture)
    assert blocks.shape == (grid.count, grid.side**2)
    joined = grid.join(blocks)
    assert blocks.dtype == joined.dtype == picture.dtype
    assert joined.shape == picture.shape
    assert joined.tobytes() == before == picture.tobytes()


@given(grids, st.integers(0, 4), st.sampled_from(DTYPES), st.integers(0, 2**32))
def test_join_undoes_split_for_stacks(grid: BlockGrid, images: int, dtype: str, seed: int) -> None:
    stack = filled((images, grid.height, grid.width), dtype, seed)
    blocks = grid.split_stack(stack)
    assert blocks.shape == (grid.count, images, grid.side**2)
    assert blocks.dtype == stack.dtype
    for index in range(images):
        assert blocks[:, index].tobytes() == grid.split(stack[index]).tobytes()
    assert grid.join_stack(blocks).tobytes() == stack.tobytes()


@given(grids, st.integers(1, 3), st.data())
def test_any_range_of_blocks_is_cut_as_from_the_whole(
    grid: BlockGrid, images: int, data: st.DataObject
) -> None:
    stack = filled((images, grid.height, grid.width), "uint8", 1)
    low = data.draw(st.integers(0, grid.count - 1))
    high = data.draw(st.integers(low + 1, grid.count))
    np.testing.assert_array_equal(
        grid.split_range(stack, low, high), grid.split_stack(stack)[low:high]
    )
    for other in (stack[:, 1:], stack[:, :, :-1], np.concatenate([stack, stack], axis=1), stack[0]):
        with pytest.raises(ValueError, match="picture of shape"):
            grid.split_range(other, low, high)
        with pytest.raises(ValueError, match="picture of shape"):
            grid.split_rows(other, 0, grid.side)


@given(grids, st.integers(0, 2**32))
def test_any_memory_layout(grid: BlockGrid, seed: int) -> None:
    picture = filled((grid.width, 2 * grid.height), "int16", seed).T[::-2]
    np.testing.assert_array_equal(grid.join(grid.split(picture)), picture)


@given(grids, st.data())
def test_each_block_holds_the_pixels_of_its_rectangle(grid: BlockGrid, data: st.DataObject) -> None:
    picture = np.arange(grid.height * grid.width).reshape(grid.height, grid.width)
    index = data.draw(st.integers(0, grid.count - 1))
    block = grid.split(picture)[index].reshape(grid.side, grid.side)
    place = grid.rectangle(index)
    for row in range(grid.side):
        for column in range(grid.side):
            # Beyond the picture its edge pixels are repeated.
            inside = min(place.top + row, grid.height - 1), min(place.left + column, grid.width - 1)
            assert block[row, column] == picture[inside]


# --- index and rectangle --------------------------------------------------------------------------


@given(grids)
def test_rectangles_cover_each_pixel_once(grid: BlockGrid) -> None:
    covered = np.zeros((grid.height, grid.width), dtype=int)
    owner = np.full((grid.height, grid.width), -1)
    for index in range(grid.count):
        place = grid.rectangle(index)
        assert 0 < place.bottom - place.top <= grid.side
        assert 0 < place.right - place.left <= grid.side
        covered[place.top : place.bottom, place.left : place.right] += 1
        owner[place.top : place.bottom, place.left : place.right] = index
        corners = [(place.top, place.left), (place.bottom - 1, place.right - 1)]
        assert [grid.index_at(row, column) for row, column in corners] == [index, index]
    assert (covered == 1).all()
    np.testing.assert_array_equal(grid.spread(np.arange(grid.count)), owner)


@given(grids, st.data())
def test_every_pixel_lies_in_its_block(grid: BlockGrid, data: st.DataObject) -> None:
    row = data.draw(st.integers(0, grid.height - 1))
    column = data.draw(st.integers(0, grid.width - 1))
    place = grid.rectangle(grid.index_at(row, column))
    assert place.top <= row < place.bottom
    assert place.left <= column < place.right


def test_blocks_go_row_by_row() -> None:
    grid = BlockGrid(20, 30, 8)
    assert (grid.rows, grid.columns, grid.count, grid.pixels) == (3, 4, 12, 64)
    places = [grid.rectangle(index) for index in range(grid.count)]
    assert places == sorted(places, key=lambda place: (place.top, place.left))


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("side", [-8, 0, 1, 65, 1000])
def test_wrong_side(side: int) -> None:
    with pytest.raises(ValueError, match=str(side)):
        BlockGrid(64, 64, side)


@pytest.mark.parametrize(("height", "width"), [(0, 5), (5, 0), (-1, 5), (0, 0)])
def test_picture_without_pixels(height: int, width: int) -> None:
    with pytest.raises(ValueError, match="no pixels"):
        BlockGrid(height, width)


@pytest.mark.parametrize(
    "shape", [(), (20,), (20, 29), (21, 30), (30, 20), (20, 30, 3), (1, 20, 30)]
)
def test_split_refuses_other_shapes(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="20, 30"):
        BlockGrid(20, 30).split(np.zeros(shape))


@pytest.mark.parametrize("shape", [(12,), (11, 64), (12, 63), (64, 12), (12, 1, 64), (12, 64, 64)])
def test_join_refuses_other_shapes(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="12, 64"):
        BlockGrid(20, 30).join(np.zeros(shape))


@pytest.mark.parametrize("shape", [(12, 64), (12, 3, 63), (11, 3, 64), (12, 3, 64, 1)])
def test_join_stack_refuses_other_shapes(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="12, 64"):
        BlockGrid(20, 30).join_stack(np.zeros(shape))


@pytest.mark.parametrize("index", [-1, 12, 1000])
def test_no_such_block(index: int) -> None:
    with pytest.raises(IndexError, match=str(index)):
        BlockGrid(20, 30).rectangle(index)


@pytest.mark.parametrize(("row", "column"), [(-1, 0), (0, -1), (20, 0), (0, 30)])
def test_no_such_pixel(row: int, column: int) -> None:
    with pytest.raises(IndexError):
        BlockGrid(20, 30).index_at(row, column)


# --- means ----------------------------------------------------------------------------------------


def restored(centred: np.ndarray, means: np.ndarray) -> np.ndarray:
    """The blocks with their means added back, in the type in which pictures are read."""
    return (centred + means[..., np.newaxis]).astype(np.float32)


@given(st.sampled_from([8, 16]), st.integers(2, 64), st.integers(0, 2**32))
def test_means_of_whole_intensities_come_back_bit_by_bit(bits: int, side: int, seed: int) -> None:
    top = 2**bits - 1
    whole = np.random.default_rng(seed).integers(0, top, (7, 2, side * side), endpoint=True)
    blocks = (whole / top).astype(np.float32)
    centred, means = centre(blocks)
    assert np.abs(centred.mean(axis=-1)).max() <= 1e-12
    assert restored(centred, means).tobytes() == blocks.tobytes()


@pytest.mark.parametrize("bits", [8, 16])
def test_every_intensity_comes_back_beside_any_mean(bits: int) -> None:
    levels = (np.arange(2**bits) / (2**bits - 1)).astype(np.float32)
    for other in (0.0, 1e-6, 0.5, 1.0):
        blocks = np.stack([levels, np.full_like(levels, other)], axis=-1)
        centred, means = centre(blocks)
        assert restored(centred, means).tobytes() == blocks.tobytes()


@given(
    st.lists(st.floats(0, 1, width=32), min_size=64, max_size=64),
    st.sampled_from([np.float32, np.float64]),
)
@settings(max_examples=200)
def test_means_of_any_intensities_come_back(values: list[float], kind: type) -> None:
    blocks = np.array(values, dtype=kind).reshape(4, 16)
    before = blocks.copy()
    centred, means = centre(blocks)
    assert np.abs(centred.mean(axis=-1)).max() <= 1e-12
    np.testing.assert_array_equal(blocks, before)  # the caller's blocks are left as they are
    np.testing.assert_allclose(means, [sum(map(float, block)) / 16 for block in blocks], atol=1e-12)
    assert np.abs(restored(centred, means) - blocks).max() <= np.finfo(np.float32).eps


@given(st.integers(0, 255))
def test_flat_blocks_become_zero(level: int) -> None:
    centred, means = centre(np.full((3, 64), np.float32(level / 255)))
    assert np.abs(centred).max() <= 1e-12
    np.testing.assert_allclose(means, np.float32(level / 255), atol=1e-12)
