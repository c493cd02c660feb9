"""Random decoys: cells protected like primary ones, so that a pattern does not show which are."""
