"""Calls of models through litellm, and what their errors mean."""
