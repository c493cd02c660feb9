"""Tables of an office's size: witnesses from programs over a few hundred cells."""
