"""What people are shown: read from the files alone, without a lock and without changing anything."""
