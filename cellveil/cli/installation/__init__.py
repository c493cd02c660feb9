"""Verbs about the program itself: demo, doctor, and compiling everything in advance."""
