"""Pictures of docs/first-hour.md: the commands of that page, run, and what they print.

``python docs/figures/first_hour.py`` writes them beside this file. The reports are drawn by
Chromium, and R's lines by Rscript, where they are installed.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "first-hour.md"
COMMANDS = Path(sys.executable).parent
WIDTH = 100

R = r"""library(cellveil)
patients <- data.frame(ward = rep(c("A", "B", "C"), 20),
                       diagnosis = c("flu", "asthma", "burn")[(0:59)^2 %% 7 %% 3 + 1])
safe <- protect(patients, by = c("ward", "diagnosis"), rules = "FREQ(5,10)")
crosstab(safe)
audit(safe)
"""


def drawn(name: str, title: str, lines: list[str]) -> None:
    """Write lines of a terminal as a picture, without fonts from elsewhere."""
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    for line in lines:
        console.print(Text(line, style="bold" if line[:2] in ("$ ", "> ") else ""))
    svg = console.export_svg(title=title)
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    svg = svg.replace("Fira Code", "DejaVu Sans Mono, Menlo, Consolas")
    (HERE / f"{name}.svg").write_text(svg, encoding="utf-8")


def ran(command: str, folder: Path) -> list[str]:
    """Command with a prompt, and what it prints."""
    paths = os.pathsep.join([str(COMMANDS), os.environ["PATH"]])
    done = subprocess.run(
        command, shell=True, cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "PATH": paths, "COLUMNS": str(WIDTH)},
    )  # fmt: skip
    text = (done.stdout + done.stderr).strip("\n")
    return [f"$ {command}", *(line.rstrip() for line in text.split("\n")), ""]


def photographed(name: str, page: Path, height: int) -> None:
    """Write a picture of the top of a page."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if chromium is None:
        print(f"no Chromium: {name}.png stays as it is")
        return
    subprocess.run(
        [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
         f"--window-size=900,{height}", f"--screenshot={HERE / name}.png", page.as_uri()],
        check=True, capture_output=True,
    )  # fmt: skip


def main() -> None:
    """Run the page's code and commands, and draw what comes of them."""
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    calls = [line[2:] for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL)
             for line in block.splitlines() if line.startswith("$ ")]  # fmt: skip
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for block in blocks:
            subprocess.run([sys.executable, "-c", block], cwd=folder, check=True)
        said = {call: ran(call, folder) for call in calls}
        for name, word, title in (
            ("first-hour-inspect", "inspect patients", "What the sheet holds"),
            ("first-hour-protect", "protect patients", "Protected, audited, reported"),
            ("first-hour-audit", "audit table4", "What anybody can work out of the sheet"),
            ("first-hour-list", "inspect list", "A list of patients"),
        ):
            lines = next(found for call, found in said.items() if word in call)
            drawn(name, title, lines)
        photographed("first-hour-report", folder / "table4.html", 1000)
        if shutil.which("Rscript"):
            env = {**os.environ, "CELLVEIL_COMMAND": str(COMMANDS / "cellveil")}
            made = subprocess.run(
                ["R", "--no-save", "--quiet"],
                input=R, cwd=folder, capture_output=True, text=True, check=False, env=env,
            )  # fmt: skip
            drawn("first-hour-r", "R", (made.stdout + made.stderr).strip(" >\n").split("\n"))


if __name__ == "__main__":
    main()
