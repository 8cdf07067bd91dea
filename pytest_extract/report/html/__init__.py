"""A run as one HTML page: no outside resource, readable without its script, its size bounded."""
