"""Reading people's values and counting them: files and tables, conditions, bins, DuckDB and Spark."""

from shuffledp.data.engine import Encode, Engine, open_engine
from shuffledp.data.files import Files, find_files
from shuffledp.data.source import Source

__all__ = ["Encode", "Engine", "Files", "Source", "find_files", "open_engine"]
