"""Runs a notebook from its first cell to its last, and writes it with what it printed and drew. Arguments: the notebook, and where it is written."""

import sys

import nbformat
from nbclient import NotebookClient

source, target = sys.argv[1:]
notebook = nbformat.read(source, as_version=4)
NotebookClient(notebook, timeout=120).execute()
# Times of this run and versions of this machine would change with every other one.
notebook.metadata.language_info = {"name": "python"}
for cell in notebook.cells:
    cell.metadata.pop("execution", None)
nbformat.write(notebook, target)
