"""Build what commands show, from the files alone: no view takes a lock or changes anything."""
