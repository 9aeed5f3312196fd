"""All knowledge of GitHub: addresses, fields, requests and oddities, without any I/O."""
