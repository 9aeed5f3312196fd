"""What people order: commands in comments, requests on the command line, answers to questions."""
