"""What a run's results add up to: means with intervals, field tables, the published systems' own aggregates."""
