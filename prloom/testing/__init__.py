"""What the authors of plugins and bridges test with."""
