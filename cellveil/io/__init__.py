"""Files of commands and jobs: read into tables and rules, written whole or not at all."""
