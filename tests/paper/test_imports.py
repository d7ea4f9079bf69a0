"""How the modules of verification and paper import each other."""

import re
from pathlib import Path


def test_modules_do_not_dodge_cycles_by_importing_inside_functions():
    package = Path(__file__).parents[2] / "src" / "shuffledp"
    for path in (*package.glob("verification/**/*.py"), *package.glob("paper/**/*.py")):
        assert not re.search(r"^ +(from shuffledp|import shuffledp)", path.read_text(), flags=re.MULTILINE), path.name
