"""What is on disk of a plan or of the repository: its journals, their commit point, and what follows from it."""
