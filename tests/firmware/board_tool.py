# SPDX-License-Identifier: MIT
"""tools/board as a module."""
import importlib.machinery
import importlib.util
import pathlib

_path = str(pathlib.Path(__file__).resolve().parents[2] / "tools" / "board")
_loader = importlib.machinery.SourceFileLoader("tenon_board", _path)
module = importlib.util.module_from_spec(importlib.util.spec_from_loader("tenon_board", _loader))
_loader.exec_module(module)
