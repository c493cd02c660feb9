"""Verbs about the program itself.

`demo`, `doctor` with its `file_trial`, and compiling in advance (`warm`).
"""
