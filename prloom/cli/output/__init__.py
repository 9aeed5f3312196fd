"""What commands print: the terminal, the layout of lines, and the texts that several commands share."""
