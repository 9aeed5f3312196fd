"""Ask the bridges for news."""
