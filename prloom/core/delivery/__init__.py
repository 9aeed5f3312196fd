"""What is delivered: the outbox, for whom a text is, and what a reply may say."""
