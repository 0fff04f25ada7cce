#!/usr/bin/env python3
"""Writes the named machines: scripts/machines/make.py [FOLDER], by default machines/ of this tree."""
import pathlib
import sys

import nvlink_machines
import pcie_machines

folder = sys.argv[1] if len(sys.argv) > 1 else str(pathlib.Path(__file__).resolve().parents[2] / "machines")
for build in (*nvlink_machines.ALL, *pcie_machines.ALL):
    build().write(folder)
