"""Read and write the files of a plan or of the repository: the journals, and what follows from the decision log."""
