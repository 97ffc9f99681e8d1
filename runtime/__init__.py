"""The world around the actors: hosting, logs, the command line."""
