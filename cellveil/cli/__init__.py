"""The command line: one file a verb, and what verbs share."""
