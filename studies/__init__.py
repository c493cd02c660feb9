"""Studies: the experiments of the papers, and publishing rules to compare with.

They belong to the project, not to what is installed: ``python -m studies NAME`` runs in a checkout.
A study imports the library; the library never imports a study.
"""
