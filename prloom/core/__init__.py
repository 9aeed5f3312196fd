"""Pure decisions: values in, values out; no clock, no files, no network."""
