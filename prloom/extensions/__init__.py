"""Find, choose, load and run the plugins and bridges, each kept apart from the rest."""
