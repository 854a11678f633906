"""The help page: the four steps, what the numbers mean, and the keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QTextBrowser

if TYPE_CHECKING:
    from collections.abc import Iterable

_TEXT = """
<h2>What was done to this picture, where, how strongly, and how sure are we?</h2>
<p><b>1 Reference.</b> The undistorted picture: a test chart, a photograph, or one of the samples.</p>
<p><b>2 Distort.</b> The program makes distorted versions of it, each kind at exact error levels. The
error is the mean squared error (MSE) on the 0 to 255 scale: low is close to the reference. SSIM says how
similar the structure is; 1 means equal. Levels that a picture cannot reach are left out and listed.</p>
<p><b>3 Train.</b> For each block of the picture a small subspace is learned that keeps its structure.
ISCA is the paper's method; PCA and a random subspace are there for comparison. <i>As published</i>
repeats the paper's iteration, <i>Fast and exact</i> minimises the same objective in a fraction of the
time. You can stop at any time and keep what was learned.</p>
<p><b>4 Recognise.</b> Open any picture of the same size, or let the program make a mystery. Every block
votes for the distortion whose training pictures are nearest; the verdict counts the votes.</p>
<p>The coloured button is always the next step. Everything that takes time can be stopped with Esc.</p>
<h3>Keys</h3>
"""


class HelpPage(QTextBrowser):
    """Shows the help text and the keys of the menus."""

    def __init__(self, keys: Iterable[tuple[str, str]]) -> None:
        super().__init__()
        lines = "".join(
            f"<tr><td style='padding-right:16px'><b>{key}</b></td><td>{text}</td></tr>" for key, text in keys
        )
        self.setHtml(f"{_TEXT}<table>{lines}</table>")
        self.setAccessibleName("Help")
        self.setToolTip("How to use the program.")
        self.setOpenExternalLinks(False)
