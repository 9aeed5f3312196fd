"""All that prloom knows of GitHub: addresses, fields and oddities; nothing in here does any I/O."""
