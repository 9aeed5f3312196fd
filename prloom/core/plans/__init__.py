"""The text of a plan: its front matter, its TODOs, their ids and states."""
