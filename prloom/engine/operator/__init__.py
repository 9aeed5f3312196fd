"""What operators ask for: written by commands, carried out by the dispatcher, or at once where none runs."""
