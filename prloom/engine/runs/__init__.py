"""The runs of agents: what they were for, what they came to, and what they said."""
