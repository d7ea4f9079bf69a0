"""What one asks of the library: a plan, a release, a simulation, a comparison."""
