"""What processes that run at the same time on one machine tell each other, so that nothing is paid for twice."""
