"""Texts: names, Markdown, times, secrets in them, and how long they may be."""
