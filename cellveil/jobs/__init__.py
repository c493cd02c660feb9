"""Jobs: tables to protect, with all that is done to them, in one TOML file."""
