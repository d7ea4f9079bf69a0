"""The client: check a task, randomize an answer, seal it, and send it once."""
