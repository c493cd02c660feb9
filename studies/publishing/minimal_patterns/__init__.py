"""All inclusion-minimal safe patterns of small networks: `patterns`, by a compiled `search`."""
