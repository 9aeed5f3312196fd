"""What keeps work waiting, and until when: deferrals, breakers, usage limits, brakes."""
