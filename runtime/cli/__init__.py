"""The `turnwire` program, a module for each subcommand."""
