"""The activity stream: what agents do, as they do it, written down and published to subscribers."""
