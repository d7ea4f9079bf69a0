"""What shufflers and analyzers share as servers: being served, problems, limits, counters, logs, tokens, pulling."""
