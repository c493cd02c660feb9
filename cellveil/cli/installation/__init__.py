"""Verbs about the program itself: `demo`, `doctor`, and compiling in advance (`warm`)."""
